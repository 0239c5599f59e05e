"""Duplex energies against golden results, a naive reference, ViennaRNA and every structure."""

from __future__ import annotations

import gzip
import json
import random
import re
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest
from backends import both_backends
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_fold import energy_of_structure, fold, structures
from pairtile.gpu.device import choose
from pairtile.methods.mirna_targets import energy as energy_module
from pairtile.methods.mirna_targets.energy import MAX_LENGTH_ON_GPU, DuplexEnergy, turner_1999

# The reference takes a tenth of a second and more for each string.
some_or_all = pytest.mark.parametrize("n", [12, pytest.param(40, marks=pytest.mark.complete)])

LINKER = "XXXXXXX"


def hundredths(energies: np.ndarray) -> list[int]:
    return np.rint(energies.astype(np.float64) * 100).astype(int).tolist()


def golden(shared: Path) -> list[tuple[str, int, str]]:
    """String, energy in 0.01 kcal/mol, structure."""
    with gzip.open(shared / "golden" / "mirna" / "energies.tsv.gz", "rt") as file:
        rows = [line.rstrip("\n").split("\t") for line in file][1:]
    return [(text, round(float(energy) * 100), structure) for text, energy, structure in rows]


def random_strings(seed: int, n: int, shortest: int, longest: int, letters: str) -> list[str]:
    draw = random.Random(seed)
    return ["".join(draw.choices(letters, k=draw.randint(shortest, longest))) for _ in range(n)]


def duplexes(seed: int, n: int) -> list[str]:
    """Strings as the search hands them over: partly complementary strands with lower-case tails,
    IUPAC letters, T and U, pads."""
    draw = random.Random(seed)
    result = []
    for _ in range(n):
        mirna = "".join(draw.choices("ACGU", k=draw.randint(8, 30)))
        target = "".join(
            complement if draw.random() < 0.75 else draw.choice("ACGTUNRYKX-")
            for complement in mirna.translate(str.maketrans("ACGU", "TGCA"))
        )
        a, b = draw.randint(0, 5), draw.randint(0, 3)
        mirna = mirna[:a].lower() + mirna[a : len(mirna) - b] + mirna[len(mirna) - b :].lower()
        target = (
            target[:a].lower() + target[a : len(target) - b] + target[len(target) - b :].lower()
        )
        result.append(mirna + LINKER + target[::-1])
    return result


AWKWARD = [
    "",
    "A",
    "GC",
    "GAAC",
    "GAAAC",
    "gaaac",
    "GAAAAC",
    "GGGGAAAACCCC",
    "GGGGAAAATCCCC",
    "N" * 30,
    "-" * 12,
    "X" * 20,
    "K" * 10 + LINKER + "K" * 10,
    "AKKKK" + LINKER + "KKKKA",
    "G" * 40,
    "GC" * 30,
    "GGNGG" + LINKER + "CC-CC",
    "--GGAUC" + LINKER + "GATCC--",
    "CGAAAG",
    "CGAAAGU",
    "cGAAAg",
    "CGAAAg",
    "CUUCGG",
    "CTTCGG",
    # multiloops of three and four helices, with and without room for dangles
    "GGGGAGGGCAAAGCCCAGGGCAAAGCCCACCCC",
    "GGGGGGGCAAAGCCCGGGCAAAGCCCCCCC",
    "AGGGGAAGGGCAAAGCCCAAGGGCAAAGCCCAAGGGCAAAGCCCAACCCCA",
    # bulges and interior loops of every small shape
    "GGGAGGGAAAACCCCCC",
    "GGGAAGGGAAAACCCACCC",
    "GGGAAGGGAAAACCCAACCC",
    "GGGAAAGGGAAAACCCAACCC",
    "GGGAAAAAAAGGGAAAACCCACCC",
    # an interior loop of 30 and one of 31, a hairpin beyond the table
    "GGGCC" + "A" * 15 + "GGGCCAAAAGGCCC" + "A" * 15 + "GGCCC",
    "GGGCC" + "A" * 16 + "GGGCCAAAAGGCCC" + "A" * 15 + "GGCCC",
    "GGGGGCC" + "A" * 31 + "GGCCCCC",
    "GGGGGCC" + "A" * 70 + "GGCCCCC",
]


# --- the reference itself ---------------------------------------------------------------------


def test_reference_agrees_with_golden_energies_and_structures(shared):
    tables = turner_1999()
    for text, energy, structure in golden(shared)[::150]:
        assert fold(text, tables) == energy, text
        assert energy_of_structure(text, structure, tables) == energy, text


@pytest.mark.parametrize("letters", ["GC", "ACGU", "GGCCAX", "GCAUKXN-", "ACGTacgtN"])
def test_reference_finds_the_best_of_all_structures(letters):
    tables = turner_1999()
    for text in random_strings(7, 15, 5, 14, letters):
        every = [energy_of_structure(text, s, tables) for s in structures(text, tables)]
        assert fold(text, tables) == min(every), text


CHEAP_MULTILOOPS = {
    "MULTILOOP_CLOSING": np.array([-1500]),
    "MULTILOOP_BRANCH": np.array([-200]),
}
"""Tables with these make multiloops win in strings short enough to try every structure."""


@pytest.mark.parametrize("letters", ["GCA", "GCAU"])
def test_reference_finds_the_best_of_all_structures_with_multiloops(letters):
    tables = turner_1999() | CHEAP_MULTILOOPS
    won = 0
    for text in random_strings(17, 25, 12, 17, letters):
        every = {s: energy_of_structure(text, s, tables) for s in structures(text, tables)}
        best = min(every, key=every.__getitem__)
        won += is_multiloop(best)
        assert fold(text, tables) == every[best], text
    assert won >= 5


def is_multiloop(structure: str) -> bool:
    """Whether some pair encloses two helices side by side."""
    bare = structure.replace(".", "")
    while "(())" in bare:
        bare = bare.replace("(())", "()")
    return "(()()" in bare


# --- both backends ----------------------------------------------------------------------------


@both_backends
def test_all_golden_energies_are_exact(backend, shared):
    rows = golden(shared)
    assert len(rows) == 6023
    energies = DuplexEnergy(choose(backend)).fold([text for text, _, _ in rows])
    assert energies.dtype == np.float32
    expected = np.array([energy / 100.0 for _, energy, _ in rows], np.float32)
    assert np.array_equal(energies, expected)


@both_backends
def test_energies_in_miranda_texts_are_exact(backend, shared):
    """The texts hold what the golden list lacks: IUPAC letters in the target, K among them."""
    strings, printed = [], []
    for path in sorted((shared / "golden" / "mirna" / "expected").glob("*.txt.gz")):
        if "noen" in path.name:
            continue
        query = reference = ""
        for line in gzip.decompress(path.read_bytes()).decode().splitlines():
            if match := re.match(r"   Query:    3' (.*) 5'", line):
                query = match[1]
            elif match := re.match(r"   Ref:      5' (.*) 3'", line):
                reference = match[1]
            elif match := re.match(r"   Energy:  (\S+) kCal/Mol", line):
                strings.append(string_of_alignment(query, reference))
                printed.append(match[1])
    assert len(strings) > 3000
    assert sum("k" in text.lower() for text in strings) > 40
    energies = DuplexEnergy(choose(backend)).fold(strings)
    assert [f"{energy:.6f}" for energy in energies] == printed


def string_of_alignment(query: str, reference: str) -> str:
    """The fold string of a printed alignment: gaps go, pads in the lower-case tails stay."""
    a = re.match("[a-z]*", query).end()
    b = re.search("[a-z]*$", query).start()
    aligned = reference[a:b].replace("-", "")
    target = reference[:a] + aligned + reference[b:]
    return query.replace("-", "") + LINKER + target[::-1]


@both_backends
def test_awkward_strings_fold_as_the_reference_says(backend):
    tables = turner_1999()
    energies = DuplexEnergy(choose(backend)).fold(AWKWARD)
    for text, energy in zip(AWKWARD, hundredths(energies), strict=True):
        assert energy == fold(text, tables), text


@both_backends
@some_or_all
@pytest.mark.parametrize("letters", ["ACGU", "GC", "GGGCCCAU", "ACGUTacgutNX-K"])
def test_random_strings_fold_as_the_reference_says(backend, letters, n):
    tables = turner_1999()
    strings = random_strings(11, n, 0, 60, letters)
    energies = DuplexEnergy(choose(backend)).fold(strings)
    assert hundredths(energies) == [fold(text, tables) for text in strings]


@both_backends
@some_or_all
def test_duplexes_fold_as_the_reference_says(backend, n):
    tables = turner_1999()
    strings = duplexes(5, n)
    energies = DuplexEnergy(choose(backend)).fold(strings)
    assert hundredths(energies) == [fold(text, tables) for text in strings]


@both_backends
@pytest.mark.parametrize(
    "lengths",
    [
        [31, 32, 33, 36, 37, 64, 65],
        # ViennaRNA folds such strings below, and the CPU beside the GPU.
        pytest.param([MAX_LENGTH_ON_GPU, MAX_LENGTH_ON_GPU + 1], marks=pytest.mark.complete),
    ],
)
def test_strings_of_any_length_fold_as_the_reference_says(backend, lengths):
    tables = turner_1999()
    strings = [random_strings(n, 1, n, n, "ACGU")[0] for n in lengths]
    energies = DuplexEnergy(choose(backend)).fold(strings)
    assert hundredths(energies) == [fold(text, tables) for text in strings]


@both_backends
def test_the_most_stable_strings_do_not_overflow(backend):
    """GC hairpins of every length: the lowest energies that there are for the GPU's 16 bits."""
    half = "GC" * 100
    strings = [
        half[:n] + "GAAA" + half[:n][::-1].translate(str.maketrans("GC", "CG"))
        for n in range(1, 100)
    ]
    energies = DuplexEnergy(choose(backend)).fold(strings)
    tables = turner_1999()
    expected = [
        energy_of_structure(text, "(" * n + "...." + ")" * n, tables)
        for n, text in enumerate(strings, start=1)
    ]
    assert min(expected) < -30000
    assert hundredths(energies) == [min(energy, 0) for energy in expected]


@both_backends
def test_multiloops_fold_as_the_reference_says(backend, monkeypatch):
    """In strings where they win: with tables that reward them."""
    tables = turner_1999() | CHEAP_MULTILOOPS
    monkeypatch.setattr(energy_module, "turner_1999", lambda celsius: tables)
    strings = random_strings(19, 40, 12, 50, "GCAU")
    energies = DuplexEnergy(choose(backend)).fold(strings)
    assert hundredths(energies) == [fold(text, tables) for text in strings]


@both_backends
def test_energies_do_not_depend_on_company_or_order(backend, monkeypatch):
    strings = duplexes(3, 300) + random_strings(4, 20, 0, 140, "ACGU")
    folder = DuplexEnergy(choose(backend))
    together = folder.fold(strings)
    order = np.random.default_rng(1).permutation(len(strings))
    assert np.array_equal(folder.fold([strings[k] for k in order]), together[order])
    monkeypatch.setattr(energy_module, "STRINGS_AT_A_TIME", 37)
    assert np.array_equal(folder.fold(strings), together)
    assert np.array_equal(folder.fold(strings[:1]), together[:1])


@pytest.mark.gpu
def test_gpu_and_cpu_agree_on_many_strings():
    strings = duplexes(21, 20000) + random_strings(22, 3000, 0, 140, "ACGUTXKN-acgu")
    cpu = DuplexEnergy(choose("cpu")).fold(strings)
    assert np.array_equal(DuplexEnergy(choose("cuda")).fold(strings), cpu)


@pytest.mark.gpu
def test_where_gpu_memory_runs_out_fewer_strings_are_folded_at_a_time(monkeypatch):
    import cupy

    whole = DuplexEnergy._fold_cuda
    sizes = []

    def scarce(self, text, offsets, energies):
        sizes.append(len(energies))
        if len(energies) > 60:
            raise cupy.cuda.memory.OutOfMemoryError(1, 1)
        whole(self, text, offsets, energies)

    strings = duplexes(13, 200)
    expected = DuplexEnergy(choose("cpu")).fold(strings)
    monkeypatch.setattr(energy_module, "STRINGS_AT_A_TIME", 200)
    monkeypatch.setattr(DuplexEnergy, "_fold_cuda", scarce)
    assert np.array_equal(DuplexEnergy(choose("cuda")).fold(strings), expected)
    assert sizes == [200, 100, 50, 50, 50, 50]


# --- the CPU alone ----------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.text("ACGUTacguXKN-", max_size=40))
def test_any_string_folds_as_the_reference_says(text):
    energies = DuplexEnergy(choose("cpu")).fold([text])
    assert hundredths(energies) == [fold(text, turner_1999())]


def test_threads_do_not_change_energies():
    strings = duplexes(9, 200)
    folder = DuplexEnergy(choose("cpu"))
    threads = numba.get_num_threads()
    expected = folder.fold(strings)
    try:
        numba.set_num_threads(1)
        assert np.array_equal(folder.fold(strings), expected)
    finally:
        numba.set_num_threads(threads)


def test_letters_beyond_ascii_are_refused():
    with pytest.raises(ValueError, match="ascii"):
        DuplexEnergy(choose("cpu")).fold(["ACGUÄ"])


def test_at_37_degrees_energies_are_those_of_viennarna(monkeypatch):
    """With the same tables at the temperature they were measured at, the two programs agree."""
    strings = random_strings(31, 300, 5, 150, "ACGU")
    # In a process of its own: it changes the settings of ViennaRNA's library.
    code = (
        "import json, sys, RNA; RNA.params_load_RNA_Turner1999(); RNA.cvar.dangles = 1;"
        "print(json.dumps([round(RNA.fold(s)[1] * 100) for s in json.load(sys.stdin)]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps(strings),
        capture_output=True,
        text=True,
        check=True,
    )
    monkeypatch.setattr(energy_module, "CELSIUS", 37.0)
    assert hundredths(DuplexEnergy(choose("cpu")).fold(strings)) == json.loads(done.stdout)
