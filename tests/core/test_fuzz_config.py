"""Damaged and hostile configuration files load or are refused, soon and with a message."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from fuzz import cases, damaged, laughs, time_limit
from hypothesis import given
from hypothesis import strategies as st
from pairtile.config.load import load_config
from pairtile.errors import ConfigError
from paths import ROOT

EXAMPLES = sorted((ROOT / "config/examples").glob("*.yaml"))
TRICKS = [
    *("*a", "&a [*a]", "<<: *a", "<<: [1]", "!!python/object/apply:os.system [true]", "!!binary x"),
    *("!!set {a}", "!!timestamp 9999-99-99", "2024-01-01", "1:30", "0o17", "017", "1e999", ".inf"),
    *(".nan", "~", "yes", "- ", "? ", "|\n  x", ">", "%YAML 9.9", "---", "...", "{", "[", "'", "@"),
    *("\t", "\u2028", "\x07", "9" * 5000, "[" * 3000, "{a: " * 500, "key: &k {<<: *k}"),
    *("../../etc", "/abs", "a b", "${HOME}", "{analysis}", "$(true)", "{0.__class__}", "%s", "\\0"),
]


def load(path: Path) -> None:
    try:
        with time_limit():
            load_config(path)
    except ConfigError as error:
        lines = str(error).split("\n")
        assert all(line.startswith(f"{path}") and "; expected " in line for line in lines)
        assert all(line.isprintable() and len(line) < 3000 for line in lines)
        str(error).encode("utf-8")


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_a_damaged_configuration_file_loads_or_is_refused(example: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "config.yaml"

        @cases(ordinary=25, nightly=400)
        @given(
            damaged(example.read_bytes()),
            st.sampled_from(TRICKS),
            st.booleans(),
            st.floats(0, 1, exclude_max=True),
        )
        def check(data: bytes, trick: str, use: bool, where: float) -> None:
            if use:  # in place of a value, or as a line of its own
                lines = data.splitlines()
                k = int(where * len(lines))
                key = lines[k].split(b":")[0] + b": " if lines and b":" in lines[k] else b""
                lines[k : k + 1] = [key + trick.encode()]
                data = b"\n".join(lines)
            path.write_bytes(data)
            load(path)

        check()


HOSTILE = {
    "laughs": laughs(9) + "analyses: {net: *a8}\n",
    "deep": "analyses: " + "{a: " * 400 + "1" + "}" * 400,
    "deeper": "analyses: " + "[" * 100_000,
    "itself": "analyses: &a {net: *a}",
    "object": "analyses: !!python/object/apply:os.system ['touch pwned']",
    "name": "analyses: {'../../net': {method: mutual_information, expression: e.tsv}}",
    "long": f"analyses: {{{'n' * 100_000}: 1}}",
    "many": "analyses:\n" + "".join(f"  n{k}: {{method: x}}\n" for k in range(3000)),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_configuration_is_refused_soon(name: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "config.yaml"
    path.write_text(HOSTILE[name])
    with time_limit(20), pytest.raises(ConfigError):
        load_config(path)
    assert list(tmp_path.iterdir()) == [path]
