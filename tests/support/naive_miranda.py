"""miRanda 3.3a's rules, one after the other, in plain Python: slow and obvious."""

from __future__ import annotations

from dataclasses import dataclass, field

from pairtile.methods.mirna_targets.config import AlignmentConfig
from pairtile.methods.mirna_targets.scoring import AlignmentScoring, SequenceBatch

A, B, C = 0, 1, 2
"""States of a cell: paired, reference base unpaired, miRNA base unpaired."""

PAIR_SCORES = {"AU": 5, "UA": 5, "CG": 5, "GC": 5, "GU": 1, "UG": 1}


@dataclass
class NaiveSettings:
    score: float = 140.0
    energy: float = 1.0
    scale: float = 4.0
    gap_open: float = -9.0
    gap_extend: float = -4.0
    strict: bool = False
    energies: bool = True
    trim: int | None = None
    seed_sites: bool = False


def scoring_of(settings: NaiveSettings | AlignmentConfig) -> AlignmentScoring:
    return AlignmentScoring.of_parameters(
        settings.score, settings.scale, settings.gap_open, settings.gap_extend
    )


batch_of = SequenceBatch.of_strings


@dataclass
class NaiveHit:
    score: int
    query_begin: int
    query_end: int
    reference_begin: int
    reference_end: int
    alignment_length: int
    identity_percent: float
    similarity_percent: float
    query_alignment: str
    match_line: str
    reference_alignment: str
    fold_string: str


@dataclass
class NaiveMatrix:
    """a, b, c and best of all cells, with zero borders; and which state each track came from."""

    n: int
    m: int
    tracks: list[list[list[int]]] = field(default_factory=list)

    def best(self, i: int, j: int) -> int:
        return max(self.tracks[i][j])

    def state(self, i: int, j: int) -> int:
        return self.tracks[i][j].index(max(self.tracks[i][j]))


def letter_score(first: str, second: str) -> int:
    first, second = (letter.upper().replace("T", "U") for letter in (first, second))
    if first not in "ACGU" or second not in "ACGU":
        return -1
    return PAIR_SCORES.get(first + second, -3)


def is_seed(i: int, n: int) -> bool:
    return i != n and i >= n - 7


def cell_score(query: str, reference: str, i: int, j: int, scale: float) -> int:
    """Score of row i on column j; ``query`` is the miRNA 3'->5'."""
    n = len(query)
    if i in (1, 2, n) or n <= 3:
        return 0
    score = letter_score(query[i - 1], reference[j - 1])
    return int(scale * score) if is_seed(i, n) else score


def fill(query: str, reference: str, settings: NaiveSettings) -> NaiveMatrix:
    n, m = len(query), len(reference)
    matrix = NaiveMatrix(n, m, [[[0, 0, 0] for _ in range(m + 1)] for _ in range(n + 1)])
    tracks = matrix.tracks
    for i in range(1, n + 1):
        seed = is_seed(i, n)
        factor = settings.scale if seed else 1
        gap_open, gap_extend = int(factor * settings.gap_open), int(factor * settings.gap_extend)
        for j in range(1, m + 1):
            score = cell_score(query, reference, i, j, settings.scale)
            a = max(0, max(tracks[i - 1][j - 1]) + score)
            b = max(tracks[i][j - 1][A] + gap_open, tracks[i][j - 1][B] + gap_extend)
            c = max(tracks[i - 1][j][A] + gap_open, tracks[i - 1][j][C] + gap_extend)
            tracks[i][j] = [a, b, -1 if seed else c]
    return matrix


def candidates(matrix: NaiveMatrix, threshold: float) -> list[tuple[int, int, int]]:
    """(score, row, column) in the order in which miRanda looks at them."""
    found = [
        (matrix.best(i, j), i, j)
        for i in range(1, matrix.n + 1)
        for j in range(1, matrix.m + 1)
        if matrix.best(i, j) >= threshold and matrix.state(i, j) != B
    ]
    return sorted(found, key=lambda cell: (-cell[0], cell[2], cell[1]))


def best_of_diagonals(cells: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    seen: set[int] = set()
    best = []
    for score, i, j in cells:
        if j - i not in seen:
            seen.add(j - i)
            best.append((score, i, j))
    return best


def far_from_better(cells: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    kept: list[tuple[int, int, int]] = []
    for score, i, j in cells:
        if all(abs((j - i) - (other_j - other_i)) > 6 for _, other_i, other_j in kept):
            kept.append((score, i, j))
    return kept


def traceback(
    matrix: NaiveMatrix, i: int, j: int, gaps: tuple[tuple[int, int], tuple[int, int]]
) -> tuple[int, int, list[int]]:
    """Row and column before the first aligned ones, and the states from there to (i, j)."""
    states: list[int] = []
    state: int | None = matrix.state(i, j)
    while state is not None and i > 0 and j > 0 and matrix.best(i, j) > 0:
        gap_open, gap_extend = gaps[is_seed(i, matrix.n)]
        states.append(state)
        if state == A:
            i, j = i - 1, j - 1
            state = matrix.state(i, j) if matrix.best(i, j) > 0 else None
        elif state == B:
            opened = matrix.tracks[i][j - 1][A] + gap_open
            extended = matrix.tracks[i][j - 1][B] + gap_extend
            j, state = j - 1, A if opened >= extended else B
        else:
            opened = matrix.tracks[i - 1][j][A] + gap_open
            extended = matrix.tracks[i - 1][j][C] + gap_extend
            i, state = i - 1, A if opened >= extended else C
    return i, j, states[::-1]


def mark(query: str, reference: str, i: int, j: int) -> str:
    return {5: "|", 1: ":"}.get(letter_score(query[i - 1], reference[j - 1]), " ")


def make_hit(
    query: str, reference: str, score: int, start: tuple[int, int], end: tuple[int, int],
    states: list[int],
) -> NaiveHit:  # fmt: skip
    n, m = len(query), len(reference)
    i, j = start
    rows: list[str] = []
    marks: list[str] = []
    columns: list[str] = []
    for state in states:
        i += state != B
        j += state != C
        rows.append("-" if state == B else query[i - 1].upper())
        columns.append("-" if state == C else reference[j - 1].upper())
        marks.append(mark(query, reference, i, j) if state == A else " ")
    before, after = start[0], n - end[0]
    left = [reference[k].lower() if k >= 0 else "-" for k in range(start[1] - before, start[1])]
    right = [reference[k].lower() if k < m else "-" for k in range(end[1], end[1] + after)]
    query_line = query[:before].lower() + "".join(rows) + query[n - after :].lower()
    reference_line = "".join(left + columns + right)
    length = len(states)
    folded_reference = "".join(left + [c for c in columns if c != "-"] + right)
    return NaiveHit(
        score=score,
        query_begin=n - end[0] + 1,
        query_end=n - start[0] + 1,
        reference_begin=max(start[1] - before + 1, 1),
        reference_end=min(end[1] + after, m),
        alignment_length=length,
        identity_percent=marks.count("|") / length * 100.0,
        similarity_percent=(marks.count("|") + marks.count(":")) / length * 100.0,
        query_alignment=query_line,
        match_line=" " * before + "".join(marks) + " " * after,
        reference_alignment=reference_line,
        fold_string=query_line.replace("-", "") + "XXXXXXX" + folded_reference[::-1],
    )


def passes_strict(hit: NaiveHit) -> bool:
    """Read 5'->3': miRNA positions 2 to 8 are seven | and no gap of the miRNA is among them."""
    position, marks = 0, []
    for row, mark_of_row in zip(hit.query_alignment[::-1], hit.match_line[::-1], strict=True):
        position += row != "-"
        if 2 <= position <= 8:
            marks.append(mark_of_row if row != "-" else "-")
        if position == 8:
            break
    return marks == ["|"] * 7


def hits_before_energy(mirna: str, reference: str, settings: NaiveSettings) -> list[NaiveHit]:
    """All hits of a pair but for the energy test, in miRanda's order."""
    query = mirna[::-1]
    reference = reference if settings.trim is None else reference[: settings.trim]
    matrix = fill(query, reference, settings)
    scale, gap_open, gap_extend = settings.scale, settings.gap_open, settings.gap_extend
    gaps = ((int(gap_open), int(gap_extend)), (int(scale * gap_open), int(scale * gap_extend)))
    cells = far_from_better(best_of_diagonals(candidates(matrix, settings.score)))
    spans: list[tuple[int, int]] = []
    hits = []
    for score, i, j in cells:
        start_i, start_j, states = traceback(matrix, i, j, gaps)
        if any(min(j, end) - max(start_j, start) >= 6 for start, end in spans):
            continue
        spans.append((start_j, j))
        hit = make_hit(query, reference, score, (start_i, start_j), (i, j), states)
        if not settings.strict or passes_strict(hit):
            hits.append(hit)
    return hits
