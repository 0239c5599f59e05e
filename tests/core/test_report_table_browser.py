"""The table of edges in a real browser: every edge, numbers as written elsewhere, names as text."""

from __future__ import annotations

import json
import math
import time
from io import StringIO
from pathlib import Path
from typing import Any

import lxml.html
import numpy as np
import pandas as pd
import pytest
from browser_page import IN_BROWSER, Page, table_rows
from pairtile.report.formats import count, number
from pairtile.report.packed_columns import pack_column, to_digits
from pairtile.report.page import write_report
from pairtile.report.results import read_results
from pairtile.runtime.files import read_json, write_json
from report_pages import unpacked
from result_files import AWKWARD, LARGE, MODULES, write_modular, write_results

pytestmark = [pytest.mark.complete, *IN_BROWSER]
ROWS = table_rows("edges-table")
INFO = "document.querySelector('#edges .dt-info').textContent"
HEADINGS = "document.querySelectorAll('#edges-table thead th')"
DRAWS = [0.0, -0.0, 1.0, -1.0, 0.001, 0.0009999, 0.00099996, 9999.4, 9999.6, 12345.6, 1e7, 123456.0]
DRAWS += [5e-324, 1.2345e-300, 1.7976e308, -3.25e-11, 0.30005, math.nan, math.inf, -math.inf]


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of 50,000 edges whose p-values are all different."""
    folder = write_modular(tmp_path_factory.mktemp("large") / "demo", 6000, LARGE, MODULES)
    network = pd.read_parquet(folder / "network.parquet")
    p = 10 ** -np.random.default_rng(3).uniform(5, 30, len(network))
    network.assign(p_value=p, q_value=p * 1e3).to_parquet(folder / "network.parquet")
    write_report(folder, folder / "report.html", folder / "figures")
    return folder


@pytest.fixture(scope="module")
def awkward(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a network with names that look like markup."""
    folder = write_results(
        tmp_path_factory.mktemp("awkward") / "demo", names=AWKWARD, n_edges=900, bootstraps=50
    )
    network = pd.read_parquet(folder / "network.parquet")
    network["p_method"] = ["empirical", "extrapolated", "extrapolated"] * (len(network) // 3)
    network.to_parquet(folder / "network.parquet")
    write_report(folder, folder / "report.html", folder / "figures")
    return folder


def search(page: Page, text: str) -> None:
    page.ask("document.querySelector('#edges .dt-search input').select()")
    page.type(text)


def test_all_fifty_thousand_edges_are_paged_through_with_few_rows_made(
    large: Path, page: Page
) -> None:
    page.open((large / "report.html").as_uri())
    assert (large / "report.html").stat().st_size < 2_950_000
    assert page.ask(INFO) == "rows 1 to 50 of 50,000"
    assert page.ask("document.querySelectorAll('#edges-table tr').length") == 51
    page.ask("document.querySelector('#edges .dt-paging-button.last').focus()")
    page.press("Enter")
    page.wait_for(f"{INFO} === 'rows 49,951 to 50,000 of 50,000'")
    network = pd.read_parquet(large / "network.parquet")
    last = network.sort_values("mi_bits", kind="stable").iloc[0]
    found = page.ask(ROWS)[-1]
    assert found[:3] == ["50,000", last["source"], last["target"]]
    assert found[3] == number(to_digits(last["mi_bits"]), 4, pad=True)
    assert found[4] == number(to_digits(last["p_value"]), 4, pad=True)


def test_the_weakest_of_fifty_thousand_edges_is_found_by_name(large: Path, page: Page) -> None:
    page.open((large / "report.html").as_uri())
    network = pd.read_parquet(large / "network.parquet")
    name = network.sort_values("mi_bits", kind="stable")["target"].iloc[0]
    search(page, name)
    page.wait_for(f"{INFO}.includes('found in 50,000')")
    partners = (network[["source", "target"]] == name).any(axis=1).sum()
    assert page.ask(INFO) == f"rows 1 to {partners} of {partners} (found in 50,000)"
    assert all(name in row for row in page.ask(ROWS))


def test_sorting_with_the_keyboard_goes_through_all_edges(large: Path, page: Page) -> None:
    page.open((large / "report.html").as_uri())
    p_values = pd.read_parquet(large / "network.parquet")["p_value"].sort_values()
    page.ask(f"{HEADINGS}[4].querySelector('[tabindex]').focus()")
    for key, expected in (("Enter", p_values), (" ", p_values[::-1])):
        page.press(key)
        best = number(to_digits(expected.iloc[0]), 4, pad=True)
        page.wait_for(f"({ROWS})[0][4] === {best!r}", 20)
        wanted = [number(to_digits(p), 4, pad=True) for p in expected.head(50)]
        assert [row[4] for row in page.ask(ROWS)] == wanted
    assert page.ask(f"{HEADINGS}[4].getAttribute('aria-sort')") == "descending"


def test_numbers_in_the_table_of_regulators_sort_as_numbers(large: Path, page: Page) -> None:
    page.open((large / "report.html").as_uri())
    rows = table_rows("regulators-table")
    written = "[...document.querySelectorAll('#regulators-table thead th')]"
    for column in (1, 2):  # targets, and the module, which not every regulator has
        page.ask(f"{written}[{column}].querySelector('[tabindex]').focus()")
        page.press("Enter")
        page.press("Enter")  # largest first
        page.wait_for(f"{written}[{column}].getAttribute('aria-sort') === 'descending'")
        shown = [int(row[column].replace(",", "") or 0) for row in page.ask(rows)]
        assert shown == sorted(shown, reverse=True)
        assert shown[0] > 9


def test_the_rows_of_the_script_are_those_of_the_page_without_script(
    awkward: Path, page: Page
) -> None:
    text = (awkward / "report.html").read_text(encoding="utf-8")
    rows = lxml.html.fromstring(text).xpath("//*[@id='edges-table']/tbody/tr")
    assert len(rows) == 50
    page.open((awkward / "report.html").as_uri())
    assert page.ask(ROWS) == [[cell.text_content() for cell in row] for row in rows]
    # Which p-values are extrapolated is written beside them.
    network = read_results(awkward).strongest(50)
    assert network["p_method"].nunique() == 2
    assert [row[-1] for row in page.ask(ROWS)] == network["p_method"].tolist()


@pytest.mark.parametrize("name", AWKWARD)
def test_names_like_markup_are_found_and_stay_text(awkward: Path, page: Page, name: str) -> None:
    page.open((awkward / "report.html").as_uri())
    search(page, name)
    page.wait_for(f"{INFO}.includes('found in 900')")
    rows = page.ask(ROWS)
    assert rows
    assert all(name in row[1:3] for row in rows)
    assert page.ask("document.querySelectorAll('#edges-table td :not(a)').length") == 0


def test_numbers_are_written_as_in_the_rest_of_the_page(awkward: Path, page: Page) -> None:
    random = np.random.default_rng(1)
    values = [*DRAWS, *(random.choice([-1, 1], 3000) * 10 ** random.uniform(-30, 12, 3000))]
    decimals = pack_column(pd.Series(values, dtype=float))
    few = pack_column(pd.Series([0.25, 1e-7] * 50))
    whole = pack_column(pd.Series([0, -12, 1234567, 2**40]))
    assert ("decimals" in decimals, "decimals" in few) == (True, False)
    page.open((awkward / "report.html").as_uri())

    def written(column: dict[str, Any], by: str) -> list[str]:
        packed, rows = json.dumps(column), len(unpacked(column))
        made = f"Array.from({{length: {rows}}}, (_, k) => {by}(packedColumn({packed})(k)))"
        return list(page.ask(made))

    expected = [number(to_digits(value), 4, pad=True) for value in values]
    assert written(decimals, "writtenDecimal") == expected
    assert written(few, "writtenDecimal") == ["0.2500", "1.000e-7"] * 50
    assert written(whole, "writtenCount.format") == [count(n) for n in (0, -12, 1234567, 2**40)]


def test_missing_values_are_sorted_below_all_others(tmp_path: Path, page: Page) -> None:
    folder = write_results(tmp_path / "demo", score="clr")
    network = pd.read_parquet(folder / "network.parquet")
    network.loc[::7, "p_value"] = np.nan
    network.to_parquet(folder / "network.parquet")
    write_report(folder, folder / "report.html", folder / "figures")
    page.open((folder / "report.html").as_uri())
    page.ask(f"{HEADINGS}[4].querySelector('[tabindex]').focus()")
    page.press("Enter")
    page.wait_for(f"({ROWS})[0][4] === '–'")
    shown = [row[4] for row in page.ask(ROWS)]
    missing = int(network["p_value"].isna().sum())
    assert (shown[missing - 1], shown[missing]) == (
        "–",
        number(to_digits(network["p_value"].min()), 4, pad=True),
    )


def test_the_rows_that_are_found_are_saved_as_a_table(tmp_path: Path, page: Page) -> None:
    folder = write_results(tmp_path / "demo")
    network = pd.read_parquet(folder / "network.parquet")
    evaluation = read_json(folder / "evaluation.json")
    evaluation["network"]["verdicts"] = "+-." * (len(network) // 3)
    write_json(folder / "evaluation.json", evaluation)
    write_report(folder, folder / "report.html", folder / "figures")
    page.open((folder / "report.html").as_uri())
    search(page, "tf003")
    page.wait_for(f"{INFO}.includes('found in 312')")
    tables = []
    for part, name in (("edges", "edges"), ("members", "regulators")):
        page.ask(f"document.querySelector('#{part} .dt-search button').click()")
        end = time.monotonic() + 20
        saved = tmp_path / f"{name}.tsv"
        while not (saved.exists() and saved.stat().st_size):  # it is made before it is filled
            assert time.monotonic() < end
            page.ask("1")
        text = saved.read_text(encoding="utf-8")
        tables.append(pd.read_csv(StringIO(text), sep="\t", dtype=str, keep_default_na=False))
    edges, regulators = tables
    chosen = network[(network[["source", "target"]] == "tf003").any(axis=1)]
    chosen = chosen.sort_values("mi_bits", ascending=False)
    assert edges["target"].tolist() == chosen["target"].tolist()
    np.testing.assert_allclose(edges["MI (bits)"].astype(float), chosen["mi_bits"], rtol=1e-3)
    verdict = [("true", "false", "")[k % 3] for k in chosen.index]
    assert edges["in gold standard"].tolist() == verdict
    assert regulators["targets"].astype(int).sum() == len(network)
