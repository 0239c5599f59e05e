"""The Turner 1999 tables: scaling, symmetry, and where they come from."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
from pairtile.errors import ConfigError
from pairtile.methods.mirna_targets.energy import hairpin_initiation, turner_1999


def test_tables_are_cut_towards_zero_after_scaling():
    tables = turner_1999(30.0)
    factor = 303.15 / 310.15
    # CG on CG: -2.4 at 37 C, enthalpy -10.6
    assert tables["STACK"][1, 1] == int(-1060 - (-1060 + 240) * factor)
    assert tables["HAIRPIN"][3] == int(570 * factor)
    assert tables["TERMINAL"].tolist() == [0, 0, 0, 50, 50, 50, 50]
    assert tables["MULTILOOP_CLOSING"] == int(340 * factor)
    assert (tables["DANGLE5"] <= 0).all()
    assert (tables["DANGLE3"] <= 0).all()
    assert (tables["DANGLE5"][:, 0] == 0).all()
    # GGGGAC: -3.0, enthalpy -4.0
    index = int("".join(str("ACGU".index(base)) for base in "GGGGAC"), 4)
    assert tables["TETRALOOP"][index] == int(-400 + 100 * factor)
    assert np.count_nonzero(tables["TETRALOOP"]) == 30


def test_interior_loops_read_from_either_side_are_the_same():
    tables = turner_1999()
    assert np.array_equal(tables["STACK"], tables["STACK"].T)
    turned = tables["INTERIOR_1X1"].transpose(1, 0, 3, 2)
    assert np.array_equal(tables["INTERIOR_1X1"][1:, 1:], turned[1:, 1:])
    turned = tables["INTERIOR_2X2"].transpose(1, 0, 4, 5, 2, 3)
    assert np.array_equal(tables["INTERIOR_2X2"], turned)


def test_hairpins_beyond_the_table_are_extrapolated():
    tables = turner_1999()
    longer = hairpin_initiation(tables, 60)
    assert np.array_equal(longer[:31], tables["HAIRPIN"])
    assert longer[60] == tables["HAIRPIN"][30] + int(107.856 * 303.15 / 310.15 * math.log(2))


def test_without_viennarna_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "RNA", None)
    with pytest.raises(ConfigError, match="pip install ViennaRNA"):
        turner_1999(12.5)


def test_reading_the_tables_leaves_viennarna_as_it_is():
    code = (
        "import RNA; before = RNA.fold('GGGGAGGGCAAAGCCCAGGGCAAAGCCCACCCC');"
        "from pairtile.methods.mirna_targets.energy import turner_1999; turner_1999();"
        "assert before == RNA.fold('GGGGAGGGCAAAGCCCAGGGCAAAGCCCACCCC')"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
