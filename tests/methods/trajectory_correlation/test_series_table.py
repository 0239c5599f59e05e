"""Tables of time series: the forms that they come in, and what is wrong with them."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pairtile.errors import ConfigError, InputError
from pairtile.methods.trajectory_correlation.read_tables import open_series_table
from small_trajectories import prepare

VALUES = np.round(np.random.default_rng(3).normal(size=(25, 3)) * 3, 6)


def lines(delimiter: str = "\t", values: np.ndarray = VALUES) -> str:
    return "".join(delimiter.join(f"{v:.6f}" for v in row) + "\n" for row in values)


def written(folder: Path, text: str, name: str = "a.tsv") -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


def read(path: str, **keys: Any) -> np.ndarray:
    return np.concatenate(list(open_series_table(path, **keys).blocks(7, False)))


TIMED = np.column_stack([np.arange(25) * 0.5, VALUES])
XVG = '# GROMACS\n@    title "d"\n@ s0 legend "a"\n@ s1 legend "b b"\n@ s2 legend "c"\n@TYPE xy\n'
FORMS = {
    "tabs": ("a\tb b\tc\n" + lines(), "a.tsv"),
    "commas": ('"a","b b","c"\r\n' + lines(",").replace("\n", "\r\n"), "a.csv"),
    "semicolons": ("a;b b;c\n" + lines(";"), "a.txt"),
    "time": ("Time (ps),a,b b,c\n" + lines(",", TIMED), "a.csv"),
    "xvg": (XVG + lines("   ", TIMED), "a.xvg"),
    "comments": ("# made by hand\n\na\tb b\tc\n# more\n" + lines() + "\n", "a.tsv"),
}


@pytest.mark.parametrize("form", list(FORMS))
def test_every_form_gives_the_same_series(form: str, tmp_path: Path) -> None:
    path = written(tmp_path, *FORMS[form])
    table = open_series_table(path)
    assert table.names == ["a", "b b", "c"]
    assert table.used == range(25)
    assert np.abs(read(path)[:, :, 0] - VALUES).max() < 1e-12


def test_plumed_blanks_gzip_and_numpy(tmp_path: Path) -> None:
    plumed = written(tmp_path, "#! FIELDS time phi psi d\n" + lines(" ", TIMED), "COLVAR")
    assert open_series_table(plumed).names == ["phi", "psi", "d"]
    assert np.abs(read(plumed)[:, :, 0] - VALUES).max() < 1e-12
    bare = written(tmp_path, lines("  "), "bare.dat")
    assert open_series_table(bare).names == ["column_1", "column_2", "column_3"]
    packed = tmp_path / "a.tsv.gz"
    packed.write_bytes(gzip.compress(("a\tb\tc\n" + lines()).encode()))
    assert np.abs(read(str(packed))[:, :, 0] - VALUES).max() < 1e-12
    np.save(tmp_path / "a.npy", VALUES)
    assert np.array_equal(read(str(tmp_path / "a.npy"))[:, :, 0], VALUES)
    np.save(tmp_path / "b.npy", VALUES.reshape(25, 1, 3))
    assert np.array_equal(read(str(tmp_path / "b.npy")), VALUES.reshape(25, 1, 3))


def test_columns_of_a_variable_belong_together(tmp_path: Path) -> None:
    six = np.column_stack([VALUES, -VALUES])
    path = written(tmp_path, "p.x\tp.y\tp.z\tq.x\tq.y\tq.z\n" + lines(values=six))
    table = open_series_table(path, dimensions=3)
    assert (table.names, table.dimensions) == (["p", "q"], 3)
    assert np.abs(read(path, dimensions=3)[:, 1] + VALUES).max() < 1e-12


@pytest.mark.parametrize("form", ["npy", "text", "own"])
def test_positions_of_many_atoms_without_names_are_numbered(form: str, tmp_path: Path) -> None:
    flat = np.random.default_rng(4).normal(size=(25, 120))
    path = written(tmp_path, "\t".join(f"c{k}" for k in range(120)) + "\n" + lines(values=flat))
    names = [f"c{k}" for k in range(0, 120, 3)]
    if form == "npy":
        path, names = str(tmp_path / "p.npy"), [f"variable_{k}" for k in range(1, 41)]
        np.save(path, flat)
    elif form == "text":
        path = written(tmp_path, lines(values=flat))
        names = [f"column_{k}" for k in range(1, 121, 3)]
    assert open_series_table(path, dimensions=3).names == names
    assert np.allclose(read(path, dimensions=3), flat.reshape(25, 40, 3), atol=1e-6)


def test_arrays_of_more_than_three_dimensions_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "p.npy", np.ones((25, 3, 40)))
    with pytest.raises(InputError, match=r"\(25, 3, 40\).* with 1 to 3 dimensions"):
        open_series_table(str(tmp_path / "p.npy"))


def test_frames_are_sliced_as_those_of_trajectories(tmp_path: Path) -> None:
    path = written(tmp_path, lines())
    assert np.allclose(read(path, start=3, step=4)[:, :, 0], VALUES[3::4])
    assert np.allclose(read(path, start=-5, stop=-1)[:, :, 0], VALUES[-5:-1])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\tb\n1\t2\n3\tx\n", "line 3, column 'b': found 'x'; expected a finite number"),
        ("a\tb\n1\t2\n3\t\n", "line 3, column 'b': found a missing value"),
        ("a\tb\n1\t2\n3\tNaN\n", "line 3, column 'b': found a missing value"),
        ("a\tb\n1\t2\n3\tinf\n", "line 3, column 'b': found 'inf'"),
        ("a\tb\n1\t2\n3\t1e300\n", "line 3, column 'b': found '1e300'"),
        ("a\tb\n1\t2\n-2e200\t1\n", "line 3, column 'a': found '-2e200'"),
        ("a\tb\n1\t2\n3\n", "line 3: found 1 field; expected 2, as above"),
        ("a\tb\n", "found no line of numbers"),
        ("# nothing\n", "found no line of numbers"),
        ("", "found an empty file"),
        ("a\ta\n1\t2\n", "found two variables named 'a'"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(InputError) as caught:
        read(path)
    assert message in str(caught.value)


def test_other_faults(tmp_path: Path) -> None:
    path = written(tmp_path, "a\tb\tc\n" + lines())
    with pytest.raises(InputError, match="found 3 columns of values; expected a multiple of 2"):
        open_series_table(path, dimensions=2)
    with pytest.raises(
        ConfigError, match=r"table\.time: found 'ns'; expected a column of .* \(a, b"
    ):
        open_series_table(path, time="ns")
    with pytest.raises(InputError, match="found no frame for frames"):
        open_series_table(path, start=25)
    bad = VALUES.copy()
    bad[9, 2] = np.nan
    np.save(tmp_path / "bad.npy", bad)
    with pytest.raises(InputError, match="frame 9, column 2: found nan; expected a finite number"):
        read(str(tmp_path / "bad.npy"), start=1)
    (tmp_path / "text.npy").write_text("no array")
    with pytest.raises(InputError, match=r"no sound \.npy file"):
        open_series_table(str(tmp_path / "text.npy"))


def test_tables_become_series_of_replicas(tmp_path: Path) -> None:
    first = written(tmp_path, "time\ta\tb\tc\n" + lines(values=TIMED), "1.tsv")
    second = written(tmp_path, "time\ta\tb\tc\n" + lines(values=TIMED[:11]), "2.tsv")
    prepared = prepare(time_series=[first, second])
    series = np.array(prepared.state["series"])
    assert series.shape == (3, 1, 36)
    assert np.abs(series[:, 0] - np.concatenate([VALUES, VALUES[:11]]).T).max() < 1e-12
    assert prepared.state["replica_offsets"].tolist() == [0, 25, 36]
    assert prepared.items["name"].tolist() == ["a", "b", "c"]
    assert np.isnan(prepared.state["mean_positions"]).all()


def test_angles_are_kept_in_radians_around_the_circle(tmp_path: Path) -> None:
    degrees = np.column_stack([VALUES[:, 0] * 5 + 179, VALUES[:, 1] + 720])
    path = written(tmp_path, "a\tb\n" + lines(values=degrees))
    keys = {"time_series": path, "estimator": {"kind": "dihedral"}}
    prepared = prepare(**keys, table={"angles": "degrees"})
    series = np.array(prepared.state["series"])[:, 0].T
    assert np.abs(np.exp(1j * series) - np.exp(1j * np.radians(degrees))).max() < 1e-7
    assert np.abs(series).max() <= np.pi
    # Both sides of the cut at 180 degrees, and yet the mean lies there and the spread is small.
    circle = np.exp(1j * series[:, 0])
    assert prepared.items["mean"][0] == pytest.approx(np.angle(circle.mean()))
    assert prepared.items["sd"][0] == pytest.approx(np.sqrt(2 * (1 - abs(circle.mean()))))
    assert prepared.items["sd"][0] < 0.5


def test_tables_that_do_not_match_are_told(tmp_path: Path) -> None:
    first = written(tmp_path, "a\tb\tc\n" + lines(), "1.tsv")
    second = written(tmp_path, "a\tb\td\n" + lines(), "2.tsv")
    with pytest.raises(InputError, match=r"2\.tsv: found 3 variables \('d'\); expected the same 3"):
        prepare(time_series=[first, second])
    short = written(tmp_path, "a\tb\tc\n" + lines(values=VALUES[:1]), "3.tsv")
    with pytest.raises(InputError, match=r"3\.tsv: found 1 frame; expected at least 4"):
        prepare(time_series=[short])
    alone = written(tmp_path, "a\n" + lines(values=VALUES[:, :1]), "4.tsv")
    with pytest.raises(InputError, match="found one variable; expected two or more"):
        prepare(time_series=[alone])


def test_arrays_of_huge_values_are_refused_with_their_place(tmp_path: Path) -> None:
    values = np.ones((5, 3))
    values[3, 1] = 1e300
    np.save(tmp_path / "run.npy", values)
    for missing in (False, True):
        with pytest.raises(InputError, match=r"run\.npy: frame 3, column 1: found 1e\+300"):
            list(open_series_table(str(tmp_path / "run.npy")).blocks(10, missing))
