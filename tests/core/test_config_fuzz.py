"""Whatever is given as configuration: it loads or is refused, and nothing else happens."""

from __future__ import annotations

import copy
import datetime
import json
from typing import Any

import jsonschema
import yaml
from fuzz import cases
from hypothesis import given
from hypothesis import strategies as st
from pairtile.config.describe import json_schema
from pairtile.config.load import load_config
from pairtile.config.models import models_in
from pairtile.config.root import Config, models
from pairtile.errors import ConfigError

SCHEMA = jsonschema.Draft202012Validator(json_schema())


def _all_keys(model: Any = Config) -> set[str]:
    found: set[str] = set()
    for part in (model, *(models().values() if model is Config else ())):
        for key, field in part.model_fields.items():
            found.add(key)
            for section in models_in(field.annotation):
                found |= _all_keys(section)
    return found


WORDS = sorted(
    _all_keys()
    | {"auto", "all", "mutual_information", "none", "rank", "true", "1e-5", "tsv", "net"}
    | {"<fdr>", "[key]", "subsample", "additive", "target_z", ""}
)
KEYS = st.sampled_from(WORDS) | st.text(max_size=8)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([10**400, -(10**400), datetime.date(2024, 1, 1), b"x", {1}])
    | st.floats()
    | KEYS
    | st.text(alphabet=st.characters(codec=None), max_size=4)  # lone surrogates, too
)
STRANGE_KEYS = KEYS | st.none() | st.booleans() | st.integers() | st.tuples(st.integers())
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(STRANGE_KEYS, inner, max_size=4),
    max_leaves=12,
)
NUMBERS = st.floats(0, 1, exclude_min=True)

GOOD_SECTIONS = st.fixed_dictionaries(
    {"method": st.just("mutual_information"), "expression": st.sampled_from(["a.tsv", "b c.gct"])},
    optional={
        "orientation": st.sampled_from(["genes_in_rows", "samples_in_rows"]),
        "regulators": st.sampled_from([None, "r.txt"]),
        "preprocess": st.fixed_dictionaries(
            {},
            optional={
                "log2": st.sampled_from(["auto", True, False]),
                "pseudocount": st.floats(0, 1e6) | st.just("1e-3"),
                "normalize": st.sampled_from(["none", "cpm", "quantile", "zscore"]),
                "min_samples": st.integers(3, 1_000_000),
                "drop_constant": st.booleans(),
            },
        ),
        "estimator": st.tuples(st.integers(1, 64), st.integers(1, 64)).map(
            lambda pair: {"bins": max(pair), "order": min(pair)}
        ),
        "score": st.sampled_from(["mi", "clr", "target_z", "combined"]),
        "null": st.fixed_dictionaries(
            {"permutations": st.integers(100, 10**9) | st.sampled_from(["auto", "1e6", 1e6])}
        ),
        "keep": st.just("all")
        | st.builds(dict, p_value=NUMBERS)
        | st.builds(dict, fdr=NUMBERS)
        | st.builds(dict, score=st.floats(allow_nan=False, allow_infinity=False))
        | st.builds(dict, top_edges=st.integers(1, 10**9)),
        "dpi": st.just(False) | st.builds(dict, tolerance=st.floats(0, 1)) | st.just({}),
        "bootstraps": st.integers(0, 10_000)
        | st.just({"resample": "subsample", "fraction": 0.5, "number": 3}),
        "chunks": st.just("auto") | st.integers(1, 100_000),
        "export": st.lists(st.sampled_from(["tsv", "html", "h5ad", "cx2"]), unique=True),
    },
)
GOOD = st.fixed_dictionaries(
    {"analyses": st.dictionaries(st.sampled_from(["a", "B", "c.1"]), GOOD_SECTIONS, min_size=1)},
    optional={"seed": st.integers(0, 2**32 - 1), "backend": st.sampled_from(["auto", "cpu"])},
)


def loads(source: Any) -> Config | None:
    """The configuration, or None where it is refused with a message worth reading."""
    try:
        return load_config(source)
    except ConfigError as error:
        lines = str(error).splitlines()
        assert lines
        assert all(line.startswith("config: ") and "; expected " in line for line in lines)
        assert all("\x00" not in line and len(line) < 1500 for line in lines)
        return None


@cases(300, 3000)
@given(st.dictionaries(STRANGE_KEYS, ANYTHING, max_size=4) | st.lists(ANYTHING) | st.integers())
def test_arbitrary_structures_load_or_are_refused(source: Any) -> None:
    loads(source)


@cases(300, 3000)
@given(st.dictionaries(STRANGE_KEYS, ANYTHING, max_size=6))
def test_arbitrary_sections_load_or_are_refused(section: dict[Any, Any]) -> None:
    loads({"analyses": {"net": {"method": "mutual_information", **section}}})


@cases(400, 4000)
@given(GOOD, st.data())
def test_one_wrong_value_in_a_good_configuration_loads_or_is_refused(
    source: dict[str, Any], data: st.DataObject
) -> None:
    broken = copy.deepcopy(source)
    place: Any = broken
    while True:
        key = data.draw(st.sampled_from(sorted(place)))
        if not isinstance(place[key], dict) or not place[key] or data.draw(st.integers(0, 3)) == 0:
            break
        place = place[key]
    place[key] = data.draw(ANYTHING)
    loads(broken)


@cases(200, 2000)
@given(GOOD)
def test_good_configurations_load_and_resolve_to_themselves(source: dict[str, Any]) -> None:
    config = load_config(source)
    again = {name: config.analyses[name].resolved() for name in config.analyses}
    top = {"results": config.results, "backend": config.backend, "seed": config.seed}
    assert load_config({**top, "analyses": again}) == config
    text = json.dumps({**top, "analyses": again}, allow_nan=False)
    assert load_config(json.loads(text)) == config


@cases(200, 2000)
@given(GOOD)
def test_good_configurations_survive_yaml_and_fit_the_schema(source: dict[str, Any]) -> None:
    again = yaml.safe_load(yaml.safe_dump(source))
    assert load_config(again) == load_config(source)
    assert not list(SCHEMA.iter_errors(again))


@cases(400, 4000)
@given(GOOD, st.data())
def test_what_loads_fits_the_schema(source: dict[str, Any], data: st.DataObject) -> None:
    section = source["analyses"][sorted(source["analyses"])[0]]
    key = data.draw(st.sampled_from(sorted(section)))
    section[key] = data.draw(SCALARS | st.lists(SCALARS, max_size=2))
    if loads(source) is not None:
        assert not list(SCHEMA.iter_errors(source))
