"""Expression joined to targets: correlations, and how low they are against shuffles' targets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from mirna_sequences import plain, write_random
from pairtile import mirna_signal
from pairtile.errors import ConfigError, InputError
from pairtile.methods.mirna_targets import score as mirna_targets
from pairtile.methods.mirna_targets.expression import Correlations
from pairtile.methods.mirna_targets.scoring import SequenceBatch
from pairtile.methods.mirna_targets.seed_sites import SeedIndex
from pairtile.statistics.correction import benjamini_hochberg
from scipy.stats import spearmanr
from workflow_runs import Analysis

SAMPLES = [f"s{k}" for k in range(12)]


def write_expression(folder: Path, **changes: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Random sequences with expression; the transcripts' samples are in another order, mir-5 has a
    missing value, tr-7 is the same everywhere, tr-8 has none of its own but that of its gene."""
    write_random(folder)
    draw = np.random.default_rng(6)
    mirnas = pd.DataFrame(draw.integers(0, 9, (6, 12)), [f"mir-{k}" for k in range(6)], SAMPLES)
    mirnas = mirnas.astype(float)
    mirnas.loc["mir-5", "s3"] = np.nan
    names = [*(f"tr-{k}" for k in range(8)), "gene-8", "other"]
    transcripts = pd.DataFrame(draw.normal(size=(10, 12)), names, SAMPLES[::-1])
    transcripts.loc["tr-7"] = 3.0
    found = {"mirna": mirnas, "transcript": transcripts} | changes
    for name, table in found.items():
        table.to_csv(folder / f"{name}.tsv", sep="\t")
    (folder / "genes.tsv").write_text("tr-8\tgene-8\n")
    return found


def asked(**changes: Any) -> dict[str, Any]:
    return plain(
        null={"shuffles": 20}, estimator={"energies": False, "score": 120.0}, genes="genes.tsv",
        mirna_expression="mirna.tsv", transcript_expression="transcript.tsv", **changes,
    )  # fmt: skip


def test_correlations_are_those_of_scipy() -> None:
    draw = np.random.default_rng(2)
    ranks = {
        name: 2 * pd.DataFrame(draw.integers(0, 5, (n, 11))).rank(axis=1).to_numpy() - 12
        for name, n in (("mirna_ranks", 4), ("transcript_ranks", 9))
    }
    ranks["transcript_ranks"][3] = 0
    opened = Correlations({name: values.astype(np.int32) for name, values in ranks.items()})
    i, j = (index.ravel() for index in np.mgrid[1:4, 2:9])
    found = opened.of_pairs(i, j).reshape(3, 7)
    for i in range(3):
        for j in range(7):
            one, other = ranks["mirna_ranks"][i + 1], ranks["transcript_ranks"][j + 2]
            wanted = np.nan if j == 1 else spearmanr(one, other).statistic
            np.testing.assert_allclose(found[i, j], wanted, atol=1e-12)


def test_pairs_and_mirnas_are_compared_with_the_targets_of_shuffles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = write_expression(tmp_path)
    run = Analysis(tmp_path, asked(), name="whole").all()
    targets = pd.read_csv(run.out / "targets.tsv", sep="\t")
    mirnas, transcripts = tables["mirna"], tables["transcript"][SAMPLES].rename({"gene-8": "tr-8"})

    def correlation(mirna: str, transcript: str) -> float:
        if mirna == "mir-5" or transcript == "tr-7":
            return float("nan")
        return float(spearmanr(mirnas.loc[mirna], transcripts.loc[transcript]).statistic)

    wanted = [correlation(row.mirna, row.transcript) for row in targets.itertuples()]
    np.testing.assert_allclose(targets["correlation"], wanted, atol=1e-6)
    # p: of pairs with a seed match, whatever the score of a hit (test_seed_sites.py has its value).
    opened = run.plan.open_estimator(run.model, run.out / "state", "cpu")
    names = [f"tr-{row}" for row in opened.state["transcript_order"]]
    own = {
        (f"mir-{i}", names[j]): k
        for i, j, k in opened.evidence.own[["i", "j", "seed_class"]].to_numpy()
    }
    pairs = list(zip(targets["mirna"], targets["transcript"], strict=True))
    tested = np.array([pair in own for pair in pairs]) & np.isfinite(wanted)
    # Of the nine transcripts, three or more must be left to compare with.
    few = {f"mir-{i}" for i, z in opened.evidence.own.groupby("i")["z"] if z.isna().all()}
    assert len(few) < 4
    tested &= ~targets["mirna"].isin(few).to_numpy()
    assert tested.sum() >= 5
    assert targets["correlation_p_value"].notna().tolist() == tested.tolist()
    q = benjamini_hochberg(targets["correlation_p_value"][tested])
    np.testing.assert_allclose(targets["correlation_q_value"][tested], q, rtol=2e-3)
    # Of a miRNA as a whole: the mean of its targets against that of each shuffle's.
    shuffled = SequenceBatch.of_state(opened.state, "null")
    sites = SeedIndex(SequenceBatch.of_state(opened.state, "transcript")).sites(shuffled).best()
    drawn = [
        (i // 20, i % 20, correlation(f"mir-{i // 20}", names[j]))
        for i, j, k, _ in zip(*(values.tolist() for values in sites), strict=True)
        if k >= 3
    ]
    of_shuffles = pd.DataFrame(drawn, columns=["mirna", "shuffle", "r"]).dropna()
    table = pd.read_csv(run.out / "expression.tsv", sep="\t").set_index("mirna")
    for mirna in range(6):
        row = table.loc[f"mir-{mirna}"]
        values = [correlation(*pair) for pair, k in own.items() if k >= 3]
        of_own = [
            value
            for (name, _), value in zip((p for p, k in own.items() if k >= 3), values, strict=True)
            if name == f"mir-{mirna}" and np.isfinite(value)
        ]
        assert row["pairs"] == len(of_own)
        means = of_shuffles[of_shuffles["mirna"] == mirna].groupby("shuffle")["r"].mean()
        if not of_own:
            assert np.isnan(row["p_value"])
            continue
        assert row["correlation"] == pytest.approx(np.mean(of_own), abs=1e-6)
        low = (means <= np.mean(of_own) + 1e-12).sum()
        assert row["p_value"] == pytest.approx((1 + low) / (1 + len(means)), abs=1e-6)
    (tmp_path / "own.tsv").write_text(
        (tmp_path / "transcript.tsv").read_text().replace("gene", "tr")
    )
    found = mirna_signal(
        tmp_path / "mirnas.fa", tmp_path / "transcripts.fa", shuffles=20, seed=3, score=120.0,
        energies=False, mirna_expression=tmp_path / "mirna.tsv", backend="cpu",
        transcript_expression=tmp_path / "own.tsv",
    )  # fmt: skip
    assert found.expression is not None
    written = pd.read_csv(run.out / "expression.tsv", sep="\t")
    pd.testing.assert_frame_equal(found.expression, written)
    for name in ("correlation_p_value", "joint_p_value"):
        np.testing.assert_array_equal(found.targets[name], targets[name])
    monkeypatch.setattr(mirna_targets, "MIRNAS_OF_A_TILE", 2)
    monkeypatch.setattr(mirna_targets, "TRANSCRIPTS_OF_A_TILE", 4)
    parts = Analysis(tmp_path, asked(chunks=4), name="parts").all().out
    for file in ("targets.tsv", "expression.tsv"):
        assert (run.out / file).read_bytes() == (parts / file).read_bytes(), file


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"transcript": pd.DataFrame(1.0, ["tr-0"], [*SAMPLES[1:], "x", "y"])},
            r"transcript\.tsv: header: found 2 samples that .*mirna\.tsv has not, such as x, y "
            r"\(11 are in both\); expected the same samples in both tables",
        ),
        (
            {"mirna": pd.DataFrame(1.0, ["mir-0"], [*SAMPLES, "more"])},
            r"mirna\.tsv: header: found 1 samples that .*transcript\.tsv has not, such as more",
        ),
        (
            {"mirna": pd.DataFrame(1.0, ["mir-x", "m"], SAMPLES)},
            r"mirna\.tsv: found no miRNA that is searched \(mir-x, m, \.\.\.\); expected .* mir-0",
        ),
        (
            {
                "mirna": pd.DataFrame(1.0, ["mir-0"], SAMPLES[:4]),
                "transcript": pd.DataFrame(1.0, ["tr-0"], SAMPLES[:4]),
            },
            r"mirna\.tsv: header: found 4 samples; expected at least 5",
        ),
    ],
)
def test_tables_that_do_not_fit_are_refused(
    tmp_path: Path, changes: dict[str, pd.DataFrame], message: str
) -> None:
    write_expression(tmp_path, **changes)
    with pytest.raises(InputError, match=message):
        Analysis(tmp_path, asked()).all()


@pytest.mark.parametrize(
    ("keys", "key"),
    [
        ({"mirna_expression": "m.tsv", "null": {"shuffles": 20}}, "transcript_expression"),
        ({"transcript_expression": "m.tsv", "null": {"shuffles": 20}}, "mirna_expression"),
        ({"mirna_expression": "m.tsv", "transcript_expression": "t.tsv"}, "null"),
    ],
)
def test_expression_needs_both_tables_and_a_null(
    tmp_path: Path, keys: dict[str, Any], key: str
) -> None:
    with pytest.raises(ConfigError, match=rf"\.{key}: "):
        Analysis(tmp_path, plain(**keys))


def test_expression_by_symbol_is_found_by_headers_and_else_the_key_that_maps_is_named(
    tmp_path: Path,
) -> None:
    tables = write_expression(tmp_path)
    by_symbol = tables["transcript"].set_axis([f"GENE{k}" for k in range(10)])
    by_symbol.to_csv(tmp_path / "transcript.tsv", sep="\t")
    found = (tmp_path / "transcripts.fa").read_text()
    for text in ("", " cdna gene:ENSG0000000000{0} gene_symbol:GENE{0}"):
        letters = found
        for k in range(9):
            header = f">ENST0000000000{k}{text.format(k)}\n"
            letters = letters.replace(f">tr-{k} a header\n", header)
        (tmp_path / "transcripts.fa").write_text(letters)
        run = Analysis(tmp_path, asked() | {"genes": None}, name=f"named{bool(text)}")
        if text:
            run.prepare()
            ranks = np.load(run.out / "state/transcript_ranks.npy")
            assert ranks.any(axis=1).sum() == 8  # GENE7 is the same everywhere
        else:
            with pytest.raises(InputError, match=r"state genes: FILE, .* transcript and gene"):
                run.prepare()
