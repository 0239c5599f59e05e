"""Rules of predictor sets: truth tables from transitions, attractors, courses, BoolNet, SBML."""

from __future__ import annotations

from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pairtile.methods.predictor_pairs import rules as rules_module
from pairtile.methods.predictor_pairs.rules import (
    RuleNetwork,
    attractors,
    boolnet,
    identifiers,
    rule_messages,
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
    assert [m.code for m in rule_messages(found)] == ["rules_unseen"]


def test_large_networks_have_no_attractors_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules_module, "MAX_STATES", 15)
    assert attractors(made(2, 1)) is None
    assert [m.code for m in rule_messages(made(2, 1))] == ["no_attractors"]


def test_no_kept_set_gives_empty_files(tmp_path: Path) -> None:
    sets = pd.DataFrame({"target": [], "rank": [], "predictor_1": []}, dtype=np.int64)
    levels, source = np.zeros((3, 5), dtype=np.int8), np.arange(4, dtype=np.int32)
    found = rule_network(sets, list("xyz"), levels[:, :4], levels[:, 1:], 2)
    counts = write_rules(found, levels, source, source + 1, tmp_path)
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
