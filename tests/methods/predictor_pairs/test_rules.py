"""Rules of predictor sets: truth tables from transitions, attractors, courses, BoolNet, SBML."""

from __future__ import annotations

import sys
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pairtile.methods.predictor_pairs import rules as rules_module
from pairtile.methods.predictor_pairs.rules import (
    RuleNetwork,
    attractors,
    attractors_by_solver,
    boolnet,
    identifiers,
    minimal_terms,
    rule_network,
    sbml_qual,
    simulated_course,
    write_rules,
)

GENES = ["a", "b", "c-1", "c.1"]


def made(q: int, seed: int, n: int = 4) -> RuleNetwork:
    """Random rules of two inputs each; the last gene has none."""
    draw = np.random.default_rng(seed)
    inputs = [tuple(draw.choice(n, 2, replace=False).tolist()) for _ in range(n - 1)]
    tables = [draw.integers(q, size=(q, q)).astype(np.int8) for _ in inputs]
    names = [*GENES, *(f"g{k}" for k in range(n))][:n]
    none = np.empty(0, dtype=np.int8)
    return RuleNetwork(np.arange(n), names, q, [*inputs, ()], [*tables, none], 0)


def naive_step(network: RuleNetwork, state: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(
        int(table[tuple(state[k] for k in inputs)]) if inputs else level
        for level, inputs, table in zip(state, network.inputs, network.tables, strict=True)
    )


@pytest.mark.parametrize("q", [2, 3])
@pytest.mark.parametrize("seed", range(5))
def test_attractors_and_basins_are_those_of_walking_from_every_state(q: int, seed: int) -> None:
    network = made(q, seed)
    basins: dict[frozenset[tuple[int, ...]], int] = {}
    for start in product(range(q), repeat=4):
        seen, state = [], start
        while state not in seen:
            seen.append(state)
            state = naive_step(network, state)
        cycle = frozenset(seen[seen.index(state) :])
        basins[cycle] = basins.get(cycle, 0) + 1
    table = attractors(network)
    assert table is not None
    found = {}
    for _, rows in table.groupby("attractor"):
        states = [tuple(row) for row in rows[network.names].to_numpy().tolist()]
        assert all(naive_step(network, a) == b for a, b in pairwise(states))
        assert naive_step(network, states[-1]) == states[0]
        assert (rows["length"] == len(rows)).all()
        found[frozenset(states)] = int(rows["basin"].iloc[0])
    assert found == basins
    first = table.drop_duplicates("attractor")
    assert first["basin_share"].sum() == pytest.approx(1.0)
    assert first["basin"].is_monotonic_decreasing


def test_rules_are_found_again_and_simulate_their_course() -> None:
    network, draw = made(2, 3), np.random.default_rng(1)
    courses = []
    for _ in range(12):
        state = draw.integers(2, size=4)
        course = [state := np.array(naive_step(network, tuple(state))) for _ in range(8)]
        courses.append(np.array(course).T)
    levels = np.concatenate(courses, axis=1).astype(np.int8)
    source = np.array([8 * s + t for s in range(12) for t in range(7)], dtype=np.int32)
    sets = pd.DataFrame(
        [(gene, 1, *sorted(network.inputs[gene])) for gene in range(3)],
        columns=["target", "rank", "predictor_1", "predictor_2"],
    )
    found = rule_network(sets, GENES, levels[:, source], levels[:, source + 1], 2)
    assert found.names == GENES
    assert found.inputs[3] == ()
    assert (simulated_course(found, levels, source, source + 1) == levels).all()
    # A missing level at the start is not known later either.
    levels[:, 0] = -1
    assert (simulated_course(found, levels, source, source + 1)[:3, 1] == -1).all()


def test_what_was_never_observed_is_the_most_frequent_level_and_counted() -> None:
    before = np.array([[0, 0, 1, 1, 0], [0, 0, 0, 0, 0], [0, 0, 0, 0, 0]], dtype=np.int8)
    after = np.array([[0] * 5, [0] * 5, [1, 1, 0, 1, -1]], dtype=np.int8)
    sets = pd.DataFrame({"target": [2], "rank": [1], "predictor_1": [0], "predictor_2": [1]})
    found = rule_network(sets, ["x", "y", "z"], before, after, 2)
    assert found.tables[2].tolist() == [[1, 1], [1, 1]]  # of 1 and 0 as often, 1 is so in all
    assert found.unseen == 2


def written(network: RuleNetwork, folder: Path, level: int = 0) -> tuple[list[str], pd.DataFrame]:
    """Codes of messages and the attractors, where all genes are measured at one level."""
    samples = np.arange(3, dtype=np.int32)
    levels = np.full((len(network.names), 4), level, dtype=np.int8)
    found = write_rules(network, levels, samples, samples + 1, folder)
    return [m.code for m in found.messages], pd.read_csv(folder / "attractors.tsv", sep="\t")


def test_large_networks_have_no_attractors_and_say_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(rules_module, "MAX_STATES", 1)
    monkeypatch.setitem(sys.modules, "pysat.solvers", None)
    assert attractors(made(2, 1)) is None
    said, table = written(made(2, 1), tmp_path)
    assert said == ["no_attractors"]
    assert table.empty


@pytest.mark.parametrize("q", [2, 3])
@pytest.mark.parametrize("seed", range(5))
def test_a_solver_finds_the_cycles_that_following_every_state_finds(
    q: int, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pysat", reason="needs the package python-sat")
    network = made(q, seed, n=7)
    network.inputs[-1], network.tables[-1] = (0,), np.arange(q, dtype=np.int8)
    expected = attractors(network)
    found, whole = attractors_by_solver(network)
    assert whole

    def cycles(table: pd.DataFrame) -> set[frozenset[tuple[int, ...]]]:
        groups = table.groupby("attractor")
        return {frozenset(map(tuple, rows[network.names].to_numpy())) for _, rows in groups}

    assert cycles(found) == cycles(expected)
    for _, rows in found.groupby("attractor"):
        states = [tuple(row) for row in rows[network.names].to_numpy().tolist()]
        assert all(naive_step(network, a) == b for a, b in pairwise([*states, states[0]]))
    monkeypatch.setattr(rules_module, "MAX_STEPS", 1)
    found, whole = attractors_by_solver(network)
    assert cycles(found) <= cycles(expected)
    assert not whole


def test_attractors_of_two_hundred_genes_are_found(tmp_path: Path) -> None:
    pytest.importorskip("pysat", reason="needs the package python-sat")
    network = made(2, 0, n=200)
    network.inputs[-1], network.tables[-1] = (0,), np.arange(2, dtype=np.int8)
    codes, table = written(network, tmp_path)
    assert codes == ["attractors_by_solver"]
    assert table["attractor"].nunique() == 16  # 62 genes change and act on others
    assert table["basin"].isna().all()
    for _, rows in table.groupby("attractor"):
        states = [tuple(row) for row in rows[network.names].to_numpy().tolist()]
        assert all(naive_step(network, a) == b for a, b in pairwise([*states, states[0]]))


def network_of(rules: dict[str, tuple[list[str], list[int]]]) -> RuleNetwork:
    """Of two levels: inputs of each gene, and its levels at 00, 01, 10, 11."""
    names = list(rules)
    inputs = [tuple(map(names.index, of)) for of, _ in rules.values()]
    tables = [np.array(t, np.int8).reshape((2,) * len(of)) for of, t in rules.values()]
    return RuleNetwork(np.arange(len(names)), names, 2, inputs, tables, 0)


NOTHING: tuple[list[str], list[int]] = ([], [0])


@pytest.mark.parametrize("level", [0, 1])
def test_attractors_of_many_genes_come_from_those_that_act_on_others(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, level: int
) -> None:
    # a and b act on each other where the input i allows it; c and d only follow.
    network = network_of(
        {
            "i": NOTHING,
            "a": (["i", "b"], [0, 0, 0, 1]),
            "b": (["a"], [0, 1]),
            "c": (["a", "b"], [0, 1, 1, 0]),
            "d": (["c"], [1, 0]),
        }
    )
    whole = attractors(network)
    monkeypatch.setattr(rules_module, "MAX_STATES", 8)
    said, table = written(network, tmp_path, level)
    assert said == ["attractors_of_core"]

    def cycles(found: pd.DataFrame) -> set[frozenset[tuple[int, ...]]]:
        groups = found[found["i"] == level].groupby("attractor")
        return {frozenset(map(tuple, rows[network.names].to_numpy())) for _, rows in groups}

    assert cycles(table) == cycles(whole)
    assert table.drop_duplicates("attractor")["basin"].sum() == (4 if level else 1)


def test_rules_are_the_fewest_terms() -> None:
    def text(*levels: int) -> str:
        inputs = ["a", "b", "c"][: len(levels).bit_length() - 1]
        network = network_of(dict.fromkeys("abc", NOTHING) | {"y": (inputs, list(levels))})
        return boolnet(network).splitlines()[-1]

    assert text(0, 1, 1, 1) in ("y, a | b", "y, b | a")
    assert text(0, 0, 1, 1) == "y, a"
    assert text(1, 1, 0, 1) in ("y, !a | b", "y, b | !a")
    assert text(0, 1, 1, 0) == "y, (!a & b) | (a & !b)"
    assert text(0, 1, 1, 1, 1, 1, 1, 0).count("|") == 2  # three terms, of six prime implicants


@pytest.mark.parametrize("q", [2, 3, 4])
def test_minimal_terms_hold_where_the_table_has_the_level(q: int) -> None:
    draw = np.random.default_rng(q)
    for n in (1, 2, 3):
        for _ in range(20):
            table = draw.integers(0, q, (q,) * n).astype(np.int8)
            for level in range(q):
                terms = minimal_terms(table, level)
                assert len(terms) <= (table == level).sum()
                for cell in np.ndindex(table.shape):
                    fits = [
                        all(x in (None, y) for x, y in zip(t, cell, strict=True)) for t in terms
                    ]
                    assert any(fits) == (table[cell] == level)


def test_rules_of_several_lags_say_which_and_are_simulated() -> None:
    draw = np.random.default_rng(4)
    levels = draw.integers(0, 2, (4, 90)).astype(np.int8)
    levels[3, 2:] = levels[0, 1:-1] ^ levels[1, :-2]
    target = np.arange(2, 90, dtype=np.int32)
    source = np.stack([target - 1, target - 2])
    sets = pd.DataFrame({"target": [3], "rank": [1], "predictor_1": [0], "predictor_2": [1]})
    sets = sets.assign(lag_1=1, lag_2=2)
    before = levels[:, source].reshape(-1, target.size)
    network = rule_network(sets, list("wxyz"), before, levels[:, target], 2, [1, 2])
    assert boolnet(network).splitlines()[-1] == "z, (!w & x[-2]) | (w & !x[-2])"
    course = simulated_course(network, levels, source, target)
    assert (course == levels[[0, 1, 3]]).all()
    single = network.of_one_step()
    assert single.names == ["w", "x", "z", "x_1_before"]
    state = np.array([1, 0, 0, 1], dtype=np.int8)[:, None]  # x was 1 a step before
    assert single.step(state)[:, 0].tolist() == [1, 0, 0, 0]


def test_no_kept_set_gives_empty_files(tmp_path: Path) -> None:
    sets = pd.DataFrame({"target": [], "rank": [], "predictor_1": []}, dtype=np.int64)
    levels, source = np.zeros((3, 5), dtype=np.int8), np.arange(4, dtype=np.int32)
    found = rule_network(sets, list("xyz"), levels[:, :4], levels[:, 1:], 2)
    counts = write_rules(found, levels, source, source + 1, tmp_path).counts
    assert counts == {"rules": 0, "rules_combinations_unseen": 0}
    for name in ("rules.tsv", "attractors.tsv"):
        assert len((tmp_path / name).read_text().splitlines()) == 1


def test_names_are_made_identifiers_that_differ() -> None:
    assert identifiers(["1a", "c-1", "c.1", "C_1", "é"]) == ["x1a", "c_1", "c_1_2", "C_1_3", "_"]


def test_boolnet_text_has_the_truth_tables() -> None:
    network = made(2, 4)
    lines = [line.split(", ") for line in boolnet(network).splitlines()]
    assert lines[0] == ["targets", "factors"]
    assert [name for name, _ in lines[1:]] == ["a", "b", "c_1", "c_1_2"]
    for state in product((0, 1), repeat=4):
        values = dict(zip(["a", "b", "c_1", "c_1_2"], map(bool, state), strict=True))
        python = [rule for _, rule in lines[1:]]
        for sign, word in (("!", " not "), ("&", " and "), ("|", " or ")):
            python = [rule.replace(sign, word) for rule in python]
        after = tuple(int(eval(rule, {}, values)) for rule in python)
        assert after == naive_step(network, state)


@pytest.mark.parametrize("q", [2, 3])
def test_sbml_is_read_by_libsbml_as_the_same_truth_tables(q: int) -> None:
    libsbml = pytest.importorskip("libsbml", reason="python-libsbml is not installed")
    network = made(q, 2)
    document = libsbml.readSBMLFromString(sbml_qual(network))
    document.checkConsistency()
    errors = [document.getError(k) for k in range(document.getNumErrors())]
    assert [e.getMessage() for e in errors if e.getSeverity() >= libsbml.LIBSBML_SEV_ERROR] == []
    plugin = document.getModel().getPlugin("qual")
    species = [plugin.getQualitativeSpecies(k) for k in range(4)]
    assert [each.getName() for each in species] == network.names
    assert {each.getMaxLevel() for each in species} == {q - 1}
    place = {each.getId(): k for k, each in enumerate(species)}

    def value(node, state):  # type: ignore[no-untyped-def]
        children = [node.getChild(k) for k in range(node.getNumChildren())]
        if node.isName():
            return state[place[node.getName()]]
        if node.isInteger():
            return node.getInteger()
        found = [value(child, state) for child in children]
        kind = node.getType()
        if kind == libsbml.AST_RELATIONAL_EQ:
            return found[0] == found[1]
        return all(found) if kind == libsbml.AST_LOGICAL_AND else any(found)

    for state in product(range(q), repeat=4):
        after = list(state)
        for k in range(plugin.getNumTransitions()):
            transition = plugin.getTransition(k)
            level = transition.getDefaultTerm().getResultLevel()
            for t in range(transition.getNumFunctionTerms()):
                term = transition.getFunctionTerm(t)
                if value(term.getMath(), state):
                    level = term.getResultLevel()
            after[place[transition.getOutput(0).getQualitativeSpecies()]] = level
        assert tuple(after) == naive_step(network, state)
