"""Transfer entropy of ordered pairs of trajectories by nearest neighbours, on the CPU.

The k-th nearest frame is sought in source, target and next target together, and frames nearer than
that are counted in each part of the three that the target's own past is in (Frenzel and Pompe 2007,
Phys. Rev. Lett. 99:204101, equation 5). All in float64. A thread takes a few sources, whose
distances serve all targets, as those of a target serve the few sources.
"""

from __future__ import annotations

import numpy as np

from pairtile.cpu.threaded import threaded
from pairtile.methods.trajectory_correlation.kernels.ksg import (
    ROW_GROUP,
    distances_of_frame,
    kth_joint,
)


@threaded(group=ROW_GROUP, entries=1 << 4)
def psi_sums(begin, end, sources, targets, later, search, wanted, psi, total):  # type: ignore[no-untyped-def]
    """Sums over frames of psi[source and target] + psi[target and next] - psi[target].

    sources, targets  float64 (rows, d, frames), (columns, d, frames)
    later             float64 (columns, d, frames): the targets, as they are later
    search            ``ksg.Search``
    wanted            bool (rows, columns): other pairs are left out
    psi               float64 (frames + 1,): what a count adds
    total             float64 (rows, columns): 0 where not wanted
    """
    window, k, _, max_norm = search
    n = sources.shape[2]
    x, y, best = np.empty((ROW_GROUP, n)), np.empty((2, n)), np.empty(k)
    for first in range(begin, end, ROW_GROUP):
        last = min(end, first + ROW_GROUP)
        for t in range(n):
            for row in range(first, last):
                distances_of_frame(sources[row], t, window, max_norm, x[row - first])
            for column in range(targets.shape[0]):
                if not wanted[first:last, column].any():
                    continue
                distances_of_frame(targets[column], t, window, max_norm, y[0])
                distances_of_frame(later[column], t, window, max_norm, y[1])
                np.maximum(y[0], y[1], y[1])
                for row in range(first, last):
                    if wanted[row, column]:
                        own, past, future = x[row - first], y[0], y[1]
                        bound = kth_joint(own, future, best)
                        n_past, n_both, n_future = 0, 0, 0
                        for s in range(n):
                            n_past += past[s] < bound
                            n_both += max(past[s], own[s]) < bound
                            n_future += future[s] < bound
                        total[row, column] += psi[n_both] + psi[n_future] - psi[n_past]
