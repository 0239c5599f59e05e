"""The score pass on the GPU: its candidates are those of the CPU and of the plain rules."""

from __future__ import annotations

import gzip
from collections.abc import Callable

import naive_miranda as naive
import numpy as np
import pytest
from naive_miranda import batch_of, scoring_of
from pairtile.errors import DeviceError
from pairtile.gpu.device import choose
from pairtile.methods.mirna_targets import screen_cuda as target_screen_cuda
from pairtile.methods.mirna_targets import search_cpu
from pairtile.methods.mirna_targets import search_cuda as target_search_cuda
from pairtile.methods.mirna_targets.scoring import AlignmentScoring, Candidates, Traced
from pairtile.methods.mirna_targets.search import trace

Search = Callable[..., Candidates]

SETTINGS = {
    "default": naive.NaiveSettings(),
    "lower threshold": naive.NaiveSettings(score=110),
    "fractional threshold": naive.NaiveSettings(score=119.5),
    "no scale": naive.NaiveSettings(score=60, scale=1),
    "cheap gaps": naive.NaiveSettings(score=110, gap_open=-4, gap_extend=-2),
    "open cheaper than extend": naive.NaiveSettings(score=45, scale=1, gap_open=-3, gap_extend=-5),
    "free opening": naive.NaiveSettings(score=130, gap_open=0, gap_extend=-1),
    "free extension": naive.NaiveSettings(score=130, gap_extend=0),
    "seed without scores": naive.NaiveSettings(score=30, scale=0),
    "fractional scale": naive.NaiveSettings(score=25, scale=0.5),
    "lowest threshold": naive.NaiveSettings(score=1, scale=1),
    "large scale": naive.NaiveSettings(score=700, scale=20),
    "beyond 16 bits": naive.NaiveSettings(score=20_000, scale=1000),
    "costs beyond 16 bits": naive.NaiveSettings(gap_open=-90_000, gap_extend=-90_000),
}

COMPLEMENT = str.maketrans("ACGU", "UGCA")


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def search(request) -> Search:
    if request.param == "cpu":
        return search_cpu.candidates
    return on_gpu()


def on_gpu() -> Search:
    device = choose("cuda")
    return lambda *arguments: target_search_cuda.candidates(*arguments, device=device)


def as_rows(found: Candidates) -> list[tuple[int, ...]]:
    return list(zip(*(values.tolist() for values in found), strict=True))


def expected(
    mirnas: list[str], references: list[str], settings: naive.NaiveSettings
) -> list[tuple[int, ...]]:
    rows = []
    for i, mirna in enumerate(mirnas):
        for j, reference in enumerate(references):
            matrix = naive.fill(mirna[::-1], reference, settings)
            cells = naive.best_of_diagonals(naive.candidates(matrix, settings.score))
            rows += [(i, j, row, column, score) for score, row, column in cells]
    return rows


def random_sequence(random: np.random.Generator, length: int, letters: str = "ACGU") -> str:
    return "".join(random.choice(list(letters), length))


def with_site(
    random: np.random.Generator, reference: str, mirna: str, place: int, unpaired: int = 0
) -> str:
    """``reference`` with a site for ``mirna``, outside the seed somewhat worn, ``unpaired`` bases
    put in somewhere."""
    site = list(mirna[::-1].translate(COMPLEMENT))
    for k in range(len(site) - 8):
        if random.random() < 0.2:
            site[k] = random_sequence(random, 1)
    middle = len(site) // 2
    site[middle:middle] = random_sequence(random, unpaired)
    written = reference[:place] + "".join(site) + reference[place + len(site) :]
    return written[: len(reference)]


def random_problem(
    seed: int, n_mirnas: int, lengths: list[int], longest: int = 33
) -> tuple[list[str], list[str]]:
    """miRNAs of 1 to ``longest`` letters, and references of the given lengths, with sites."""
    random = np.random.default_rng(seed)
    mirna_lengths = [*random.integers(1, longest, n_mirnas - 2).tolist(), 22, 22]
    mirnas = [random_sequence(random, n) for n in mirna_lengths]
    references = []
    for k, length in enumerate(lengths):
        reference = random_sequence(random, length, "ACGUNRacgt" if k % 3 == 2 else "ACGU")
        for place in range(0, length - 20, 60):
            mirna = mirnas[int(random.integers(n_mirnas))]
            unpaired = int(random.choice([0, 0, 1, 2, 5, 13]))
            reference = with_site(random, reference, mirna, place, unpaired)
        references.append(reference)
    return mirnas, references


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS.keys())
def test_candidates_are_those_of_the_plain_rules(search, settings):
    mirnas, references = random_problem(1, 8, [1, 7, 40, 230, 100, 0])
    found = search(batch_of(mirnas), batch_of(references), scoring_of(settings))
    assert as_rows(found) == expected(mirnas, references, settings)


@pytest.mark.gpu
@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS.keys())
@pytest.mark.parametrize("window_blocks", [None, 1, 3])
def test_gpu_finds_what_the_cpu_finds_wherever_it_cuts(settings, window_blocks, monkeypatch):
    mirnas, references = random_problem(4, 40, [3000, 64, 9, 0, 700, 16, 1500, 33], longest=60)
    if window_blocks is not None:
        # Sites lie every 60 letters, so that many reach across the ends of such windows.
        def short_windows(columns: int, *_: int) -> tuple[int, int]:
            return -(
                -target_screen_cuda.blocks(columns) // (target_screen_cuda.THREADS * window_blocks)
            ), window_blocks

        monkeypatch.setattr(target_screen_cuda, "windows", short_windows)
    if settings.score == 1:
        references = references[1:4]
    inputs = batch_of(mirnas), batch_of(references), scoring_of(settings)
    assert_equal(on_gpu()(*inputs), search_cpu.candidates(*inputs))


@pytest.mark.gpu
def test_gpu_grows_its_lists(monkeypatch):
    mirnas, references = random_problem(5, 60, [4000, 3000])
    inputs = (
        batch_of(mirnas),
        batch_of(references),
        AlignmentScoring.of_parameters(60, 4, -9, -4),
    )
    monkeypatch.setattr(target_screen_cuda, "FREE_SHARE", 2**50)
    found = on_gpu()(*inputs)
    assert len(found.i) > 10_000  # lists begin with 1024 places
    assert_equal(found, search_cpu.candidates(*inputs))


@pytest.fixture
def blocks_searched(monkeypatch) -> list[int]:
    """Grows by the number of miRNAs of each block that a search begins with."""
    begun = []
    search = target_search_cuda.BlockSearch

    def counted(*arguments):
        begun.append(len(arguments[1]))
        return search(*arguments)

    monkeypatch.setattr(target_search_cuda, "BlockSearch", counted)
    counted.candidates, counted.alignments = search.candidates, search.alignments
    return begun


@pytest.mark.gpu
def test_gpu_halves_the_work_where_memory_runs_out(blocks_searched):
    import cupy

    mirnas, references = random_problem(6, 60, [4000, 3000, 100])
    inputs = (
        batch_of(mirnas),
        batch_of(references),
        AlignmentScoring.of_parameters(70, 4, -9, -4),
    )
    whole = on_gpu()(*inputs)
    assert blocks_searched == [60]
    pool = cupy.get_default_memory_pool()
    try:
        pool.free_all_blocks()
        pool.set_limit(size=15 * len(whole.i))  # a candidate takes 20 bytes, and more for sorting
        assert_equal(on_gpu()(*inputs), whole)
        assert len(blocks_searched) > 3
        pool.free_all_blocks()
        pool.set_limit(size=4096)
        with pytest.raises(DeviceError, match="expected a GPU with more free memory"):
            on_gpu()(*inputs)
    finally:
        pool.set_limit(size=0)


@pytest.mark.gpu
def test_gpu_sorts_candidates_that_no_number_holds():
    import cupy

    random = np.random.default_rng(7)
    limits = np.array([2**20, 2**20, 50, 2**28, 2**11])
    rows = random.integers(0, limits[:, None], (5, 1000)).astype(np.int32)
    rows[:3, ::2] = rows[:3, :1]  # ties
    i, j, row, column, score = rows
    order = np.lexsort([row, column, -score, j, i])
    ordered = cupy.asnumpy(target_screen_cuda._sorted(cupy, cupy.asarray(rows)))
    np.testing.assert_array_equal(ordered, rows[:, order])


def aligned_on_cpu(
    mirnas: list[str], references: list[str], scoring: AlignmentScoring, allowed=None
) -> list[Traced]:
    found = search_cpu.candidates(batch_of(mirnas), batch_of(references), scoring, allowed)
    return list(trace(found, batch_of(mirnas), batch_of(references), scoring))


def alignments_of(traced: Traced) -> list[tuple[int | list[int], ...]]:
    """Numbers and states of each."""
    columns = [values.tolist() for values in traced[:-1]]
    states = [row[:n].tolist() for row, n in zip(traced.states, traced.state_count, strict=True)]
    return list(zip(*columns, states, strict=True))


def assert_same_alignments(found: Traced, wanted: list[Traced]) -> None:
    assert alignments_of(found) == [row for part in wanted for row in alignments_of(part)]


@pytest.mark.gpu
@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS.keys())
def test_gpu_filters_and_traces_as_the_cpu_does(settings):
    lengths = [40, 64, 9] if settings.score == 1 else [3000, 64, 9, 0, 700, 16, 1500]
    mirnas, references = random_problem(9, 40, lengths, longest=60)
    mirnas += [random_sequence(np.random.default_rng(10), 200)]  # tracks too long to share
    scoring = scoring_of(settings)
    found = target_search_cuda.alignments(
        batch_of(mirnas), batch_of(references), scoring, device=choose("cuda")
    )
    assert_same_alignments(found, aligned_on_cpu(mirnas, references, scoring))


@pytest.mark.gpu
def test_gpu_traces_only_allowed_pairs_also_where_memory_runs_out(blocks_searched):
    import cupy

    mirnas, references = random_problem(11, 40, [2000, 900, 100])
    allowed = np.random.default_rng(12).random((40, 3)) < 0.7
    inputs = (
        batch_of(mirnas),
        batch_of(references),
        AlignmentScoring.of_parameters(70, 4, -9, -4),
        allowed,
    )
    wanted = aligned_on_cpu(mirnas, references, *inputs[2:])
    whole = target_search_cuda.alignments(*inputs, device=choose("cuda"))
    assert_same_alignments(whole, wanted)
    pool = cupy.get_default_memory_pool()
    try:
        pool.free_all_blocks()
        pool.set_limit(size=2**21)
        again = target_search_cuda.alignments(*inputs, device=choose("cuda"))
    finally:
        pool.set_limit(size=0)
    assert len(blocks_searched) > 3
    assert_same_alignments(again, wanted)


@pytest.mark.gpu
def test_gpu_agrees_with_the_cpu_on_human_sequences(shared):
    mirnas = read_fasta(shared / "data/mirna/human_mature_mirna.fa")[::40]
    transcripts = read_fasta(shared / "data/mirna/human_chr22_transcripts.fa.gz")[::4]
    inputs = (
        batch_of(mirnas),
        batch_of(transcripts),
        AlignmentScoring.of_parameters(140, 4, -9, -4),
    )
    found = on_gpu()(*inputs)
    assert len(found.i) > 5000
    assert_equal(found, search_cpu.candidates(*inputs))
    traced = target_search_cuda.alignments(*inputs, device=choose("cuda"))
    assert_same_alignments(traced, aligned_on_cpu(mirnas, transcripts, inputs[2]))


def read_fasta(path) -> list[str]:
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt") as lines:
        records = lines.read().split(">")[1:]
    return ["".join(record.split("\n")[1:]) for record in records]


def assert_equal(found: Candidates, wanted: Candidates) -> None:
    for got, expected_values in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(got, expected_values)
