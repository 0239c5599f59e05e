"""Places for the genes of a drawn network: one layout for each connected part, packed together."""

from __future__ import annotations

import random
from collections.abc import Sequence

import igraph
import numpy as np

# Room for one gene, in the drawing's own units (pixels at zoom 1).
SPACING = 80.0
# Kamada-Kawai takes a time that grows with the square of the nodes; larger parts are placed by
# Fruchterman and Reingold's forces.
MOST_KAMADA_KAWAI = 500
# igraph's quicker variant (a grid, its choice above 1,000 nodes) pulls leaves onto their hubs; the
# exact one takes the square of the nodes: 3,000 need about ten seconds.
MOST_EXACT = 3000


def place_nodes(n_nodes: int, edges: Sequence[tuple[int, int]]) -> np.ndarray:
    """Positions for ``n_nodes`` nodes, float64 of shape (n_nodes, 2); the same on every call.

    Each connected component is laid out by the Kamada-Kawai algorithm from a circle, which spreads
    hubs and their leaves well and draws no random number (one of more than 500 nodes by the forces
    of Fruchterman and Reingold); the components are then packed side by side, largest first.
    """
    places = np.zeros((n_nodes, 2))
    if not n_nodes:
        return places
    graph = igraph.Graph(n=n_nodes, edges=list(edges)).simplify()
    components = sorted(graph.connected_components(), key=lambda part: (-len(part), part))
    boxes = [_place_component(graph.induced_subgraph(part)) for part in components]
    for part, box, corner in zip(components, boxes, _pack(boxes), strict=True):
        places[part] = box + corner
    return places


def _place_component(graph: igraph.Graph) -> np.ndarray:
    """Positions with their lower corner at 0, scaled to SPACING by SPACING for each node."""
    n = graph.vcount()
    if n == 1:
        return np.zeros((1, 2))
    if n == 2:
        return np.array([[0.0, 0.0], [SPACING, 0.0]])
    if n <= MOST_KAMADA_KAWAI:
        layout = graph.layout_kamada_kawai(maxiter=20 * n, seed=graph.layout_circle())
    else:
        # igraph draws from one generator for the whole process; it is handed back afterwards.
        igraph.set_random_number_generator(random.Random(0))
        try:
            layout = graph.layout_fruchterman_reingold(
                niter=300, seed=graph.layout_circle(), grid=n > MOST_EXACT
            )
        finally:
            igraph.set_random_number_generator(random)
    places = np.asarray(layout.coords, dtype=np.float64)
    places -= places.min(axis=0)
    width, height = places.max(axis=0)
    # A chain has no area: then its length is what n nodes need side by side.
    scale = SPACING * min(np.sqrt(n / max(width * height, 1e-9)), n / max(width, height))
    return places * float(scale)


def _pack(boxes: list[np.ndarray]) -> list[np.ndarray]:
    """A lower corner for each box: in turn where it lies lowest, on a page about 3:2 wide."""
    # Sizes in whole columns of SPACING, with a margin of one and a half.
    sizes = [np.ceil((box.max(axis=0) + 1.5 * SPACING) / SPACING).astype(int) for box in boxes]
    area = sum(int(width * height) for width, height in sizes)
    columns = max([int(np.sqrt(1.6 * area)), *(int(width) for width, _ in sizes)])
    top = np.zeros(columns, dtype=int)
    corners = []
    for width, height in sizes:
        windows = np.lib.stride_tricks.sliding_window_view(top, width).max(axis=1)
        x = int(windows.argmin())
        corners.append(np.array([x, windows[x]]) * SPACING)
        top[x : x + width] = windows[x] + height
    return corners
