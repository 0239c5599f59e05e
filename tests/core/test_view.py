"""``pairtile view``: all stored pairs, and the server that hands them to a browser."""

from __future__ import annotations

import http.client
import json
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from browser_page import CHROMIUM, Page, table_rows
from pairtile.command import main
from pairtile.errors import InputError, PairtileError, StoreError
from pairtile.runtime.files import write_json, write_parquet
from pairtile.view import pair_store, server
from pairtile.view.pair_store import PairStore
from pairtile.view.server import Server, view

N_ITEMS = 60
PACKAGE = "pairtile.methods.mutual_information"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pair_store, "user_cache", lambda: tmp_path)


def write_store(folder: Path, score: str = "mi_bits", group_rows: int = 100) -> pd.DataFrame:
    """Two thirds of all pairs of 60 items, some twice, some without a score, in row groups of 100:
    an index of five blocks."""
    random = np.random.default_rng(3)
    i, j = np.triu_indices(N_ITEMS, 1)
    rows = np.sort(random.choice(len(i), 1180))
    values = random.normal(0, 0.4, len(rows)).clip(-1, 1)
    values[random.choice(len(rows), 9)] = np.nan
    pairs = pd.DataFrame({"i": i[rows], "j": j[rows], score: values}).astype(
        {"i": "int32", "j": "int32"}
    )
    folder.mkdir(parents=True)
    pairs.to_parquet(folder / "pairs.parquet", row_group_size=group_rows)
    names = [f"<b>{k}</b>" if k == 7 else f"gene{k}" for k in range(N_ITEMS)]
    write_parquet(folder / "items.parquet", pd.DataFrame({"name": names}), PACKAGE)
    method = {"correlation": "multimodal_correlation"}.get(score, "mutual_information")
    write_json(folder / "summary.json", {"method": method, "counts": {}})
    (folder / "report.html").write_text(f"<title>{folder.name}: found</title>")
    return pairs


def strength(pairs: pd.DataFrame, score: str) -> np.ndarray:
    values = pairs[score].to_numpy(np.float32)
    return np.abs(values) if score == "correlation" else np.maximum(values, 0)


@pytest.mark.parametrize("score", ["mi_bits", "correlation"])
@pytest.mark.parametrize("least", [0.0, 0.25])
def test_partners_of_every_item_are_those_of_the_whole_table(
    tmp_path: Path, score: str, least: float
) -> None:
    pairs = write_store(tmp_path / "a", score)
    store = PairStore(tmp_path / "a")
    least = store.snapped(least)
    wanted = pairs[(strength(pairs, score) >= least) | (least == 0)]
    for item in range(N_ITEMS):
        found = store.partners(item, least)
        own = wanted[(wanted["i"] == item) | (wanted["j"] == item)]
        others = own["i"] + own["j"] - item
        assert set(found.first) == {item}
        expected = sorted(zip(others, own[score].astype(np.float32).fillna(9), strict=True))
        scores = np.nan_to_num(found.score, nan=np.float32(9))
        assert sorted(zip(found.second, scores, strict=True)) == expected
        ranked = strength(pd.DataFrame({score: found.score}), score)
        known = ranked[np.isfinite(ranked)]
        assert (np.diff(known) <= 0).all()
        assert np.isnan(ranked[len(known) :]).all()


def test_items_are_called_by_their_symbols_and_found_by_either_name(tmp_path: Path) -> None:
    write_store(tmp_path / "a")
    symbols = [f"S{k // 2}" if k < 4 else f"S{k}" for k in range(N_ITEMS)]  # two are shared
    items = pd.read_parquet(tmp_path / "a/items.parquet").assign(symbol=symbols)
    write_parquet(tmp_path / "a/items.parquet", items, PACKAGE)
    store = PairStore(tmp_path / "a")
    assert store.names[[0, 3, 9]].tolist() == ["S0 (gene0)", "S1 (gene3)", "S9"]
    asked = ("S9", "gene9", "S0 (gene0)", "gene0", "S0", "S1234")
    assert [store.number(name) for name in asked] == [9, 9, 0, 0, None, None]
    (ends, _), *_ = store.named(store.best(), 1)
    assert all(end.startswith("S") for end in ends)


def test_pairs_from_any_threshold_are_counted_and_listed_exactly(tmp_path: Path) -> None:
    pairs = write_store(tmp_path / "a", "correlation")
    store = PairStore(tmp_path / "a")
    assert store.count() == store.rows == len(pairs)
    values = strength(pairs, "correlation")
    for wish in (1e-30, 0.1, 0.3, 0.30001, 0.9, 5.0):
        least = store.snapped(wish)
        assert wish * (1 - 1 / 4096) <= least <= wish * (1 + 1e-7)
        wanted = int((values >= np.float32(least)).sum())
        assert store.count(least) == wanted
        assert sum(len(part.score) for part in store.pairs(least)) == wanted
        assert len(store.best(least).score) == min(wanted, pair_store.MAX_BEST)
    best = np.sort(values[np.isfinite(values)])[::-1][: pair_store.MAX_BEST]
    np.testing.assert_array_equal(np.abs(store.best().score), best)


def test_an_index_is_made_again_for_another_table_alone(tmp_path: Path) -> None:
    write_store(tmp_path / "a")
    made = PairStore(tmp_path / "a")
    before = (made.index / "index.json").stat().st_ino
    assert (PairStore(tmp_path / "a").index / "index.json").stat().st_ino == before
    pairs = pd.read_parquet(tmp_path / "a/pairs.parquet").head(50)
    pairs.to_parquet(tmp_path / "a/pairs.parquet")
    with pytest.raises(StoreError, match="changed"):
        made.check_unchanged()
    assert PairStore(tmp_path / "a").rows == 50
    assert len(list((tmp_path / "pairtile-view").iterdir())) == 1


def test_what_cannot_be_looked_up_is_refused(tmp_path: Path) -> None:
    pairs = write_store(tmp_path / "a")
    pairs.iloc[::-1].to_parquet(tmp_path / "a/pairs.parquet")
    with pytest.raises(StoreError, match="sorted"):
        PairStore(tmp_path / "a")
    pairs.assign(target=1).to_parquet(tmp_path / "a/pairs.parquet")
    with pytest.raises(StoreError, match=r"report\.html"):
        PairStore(tmp_path / "a")
    (tmp_path / "a/pairs.parquet").unlink()
    with pytest.raises(StoreError, match=r"has no pairs\.parquet"):
        PairStore(tmp_path / "a")
    pairs.head(0).to_parquet(tmp_path / "a/pairs.parquet")
    empty = PairStore(tmp_path / "a")
    assert (empty.count(), len(empty.partners(3).score), len(empty.best().score)) == (0, 0, 0)


def test_a_full_disk_is_foreseen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_store(tmp_path / "a")
    monkeypatch.setattr(
        pair_store.shutil, "disk_usage", lambda _: type("Usage", (), {"free": 1000})()
    )
    with pytest.raises(StoreError, match="XDG_CACHE_HOME"):
        PairStore(tmp_path / "a")


@contextmanager
def served(root: Path, folders: dict[str, Path]) -> Iterator[Server]:
    with Server(root, folders) as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield running
        finally:
            running.ending.set()
            running.shutdown()
            thread.join()


@pytest.fixture
def one(tmp_path: Path) -> Iterator[Server]:
    write_store(tmp_path / "results/a")
    (tmp_path / "results/secret.txt").write_text("not of this analysis")
    with served(tmp_path / "results/a", {"a": tmp_path / "results/a"}) as running:
        yield running


def get(running: Server, path: str, host: str | None = None) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", running.server_port, timeout=30)
    connection.putrequest("GET", path, skip_host=True)
    connection.putheader("Host", host or f"localhost:{running.server_port}")
    connection.endheaders()
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


def test_only_who_knows_the_secret_and_names_this_host_is_answered(one: Server) -> None:
    page = f"/{one.secret}/a/"
    assert one.server_address[0] == "127.0.0.1"
    assert get(one, page)[0] == 200
    assert get(one, page, host="example.org")[0] == 403
    assert get(one, page, host=f"example.org:{one.server_port}")[0] == 403
    other = f"/{'x' * len(one.secret)}"
    for path in ("/", "/a/", f"{other}/a/", f"/{one.secret}", f"/{one.secret}/", f"{page[:-1]}"):
        assert get(one, path)[0] == 404, path


def test_no_file_outside_the_analysis_is_handed_out(one: Server) -> None:
    assert get(one, f"/{one.secret}/a/report.html") == (200, "<title>a: found</title>")
    os.symlink("../secret.txt", one.root / "link.txt")
    for path in (
        "../secret.txt",
        "%2e%2e/secret.txt",
        "..%2fsecret.txt",
        "link.txt",
        "no.txt",
        ".",
    ):
        assert get(one, f"/{one.secret}/a/{path}")[0] == 404, path


def test_a_request_that_cannot_be_read_is_refused_in_silence(
    one: Server, capfd: pytest.CaptureFixture[str]
) -> None:
    for path in ("*", "http://[/", "%00", f"/{one.secret}/a/%00", f"/{one.secret}/a/a%00b"):
        assert get(one, path)[0] == 400, path
    assert capfd.readouterr() == ("", "")


def test_a_thousand_requests_at_once_are_answered(one: Server) -> None:
    with ThreadPoolExecutor(200) as pool:
        found = list(pool.map(lambda _: get(one, f"/{one.secret}/a/report.html"), range(1000)))
    assert found == [(200, "<title>a: found</title>")] * 1000


def test_what_a_summary_of_strangers_names_is_not_read(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folders = {name: tmp_path / "results" / name for name in ("a", "b")}
    for folder in folders.values():
        write_store(folder)
        read = {"path": str(tmp_path / "fifo"), "stamp": "", "sha256": ""}
        write_json(folder / "summary.json", {"inputs": {"expression": read}})
    os.mkfifo(tmp_path / "fifo")  # reading it would never end
    (folders["b"] / "summary.json").unlink()
    (folders["b"] / "summary.json").symlink_to("/dev/zero")
    with served(tmp_path / "results", folders) as running:
        assert get(running, f"/{running.secret}/")[0] == 200
        (folders["a"] / "summary.json").write_text('{"run": [], "counts": 1}')
        assert get(running, f"/{running.secret}/")[0] == 500
    said = capfd.readouterr().err
    assert said.count("\n") == 1
    assert "Traceback" not in said


def test_pairs_of_another_run_are_refused(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_store(tmp_path / name)
    files = {"pairs.parquet": "another checksum"}
    write_json(tmp_path / "a/summary.json", {"method": "mutual_information", "files": files})
    with pytest.raises(StoreError, match=r"pairs\.parquet"):
        PairStore(tmp_path / "a")


def test_partners_and_pairs_are_listed_counted_and_saved(one: Server) -> None:
    store = PairStore(one.root)
    pairs = f"/{one.secret}/a/pairs"
    answer = json.loads(get(one, f"{pairs}/list?of=gene3&least=0.2")[1])
    assert answer["count"] == len(store.partners(3, store.snapped(0.2)).score)
    assert answer["rows"][0][0] == "gene3"
    everything = json.loads(get(one, f"{pairs}/list?of=&least=0.2")[1])
    assert everything["count"] == store.count(store.snapped(0.2))
    for asked, count in (
        ("of=gene3&least=0.2", answer["count"]),
        ("least=0.2", everything["count"]),
    ):
        lines = get(one, f"{pairs}/list.tsv?{asked}")[1].splitlines()
        assert lines[0].split("\t") == ["source", "target", "mi_bits"]
        assert len(lines) == count + 1
    names = json.loads(get(one, f"{pairs}/names?like=ene5")[1])["names"]
    assert names == ["gene5", *[f"gene5{k}" for k in range(10)]]
    for asked in ("of=nobody", "least=much", "least=nan"):
        assert get(one, f"{pairs}/list?{asked}")[0] == 409, asked
    os.utime(one.root / "pairs.parquet", (1, 1))
    status, why = get(one, f"{pairs}/list")
    assert status == 409
    assert "changed" in why


def test_the_server_ends_when_its_last_page_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_store(tmp_path / "results/a")
    monkeypatch.setattr(server, "BEAT_SECONDS", 0.02)
    monkeypatch.setattr(server, "CLOSED_SECONDS", 0.3)
    said: list[str] = []
    ready = threading.Event()

    def hear(line: str) -> None:
        said.append(line)
        if "http://" in line:
            ready.set()

    running = threading.Thread(target=view, args=(tmp_path / "results/a", 0, hear))
    running.start()
    assert ready.wait(30)
    _, _, host, secret, *_ = said[-1].split()[1].split("/")
    page = http.client.HTTPConnection(host, timeout=30)
    page.request("GET", f"/{secret}/alive")
    answer = page.getresponse()
    running.join(1.0)
    assert running.is_alive()  # as long as the page is open
    answer.close()
    page.close()
    running.join(10)
    assert not running.is_alive()


def test_what_cannot_be_served_is_said_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(InputError, match="no such folder"):
        view(tmp_path / "nowhere")
    with pytest.raises(PairtileError, match=r"has no summary\.json"):
        view(tmp_path)
    write_store(tmp_path / "results/a")
    with served(tmp_path, {}) as other, pytest.raises(InputError, match="--port"):
        view(tmp_path / "results/a", other.server_port)
    assert main(["view", str(tmp_path / "nowhere")]) == 1
    assert "no such folder" in capsys.readouterr().err


def test_all_analyses_of_a_folder_are_served(tmp_path: Path) -> None:
    folders = {}
    for name in ("a", "b"):
        write_store(tmp_path / name)
        folders[name] = tmp_path / name
    with served(tmp_path, folders) as running:
        status, text = get(running, f"/{running.secret}/")
        assert status == 200
        assert 'href="a/report.html"' in text
        assert 'href="b/"' in text
        assert get(running, f"/{running.secret}/b/report.html")[0] == 200
        assert get(running, f"/{running.secret}/b/")[0] == 200


@pytest.mark.complete
@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on PATH")
def test_a_reader_finds_partners_moves_the_threshold_and_saves(
    one: Server, chromium: Page, tmp_path: Path
) -> None:
    with chromium.fresh(tmp_path) as page:
        _reads(one, page, tmp_path / "pairs.tsv")
        assert page.complaints == []
        assert page.ask("document.documentElement.dataset.errors") is None


def _reads(one: Server, page: Page, saved: Path) -> None:
    status = "document.getElementById('pairs-status').textContent"
    page.open(one.address)
    page.wait_for(f"{status}.includes('1,180 pairs')")
    page.ask("document.getElementById('pairs-of').focus()")
    page.type("<b>7</b>")
    page.press("Enter")
    page.wait_for(f"{status}.startsWith('<b>7</b>: ')")
    assert page.ask("document.querySelectorAll('#pairs-table b').length") == 0
    store = PairStore(one.root)
    everyone = store.partners(7)
    assert len(page.ask(table_rows("pairs-table"))) == len(everyone.score)
    page.ask(
        "(() => { const e = document.getElementById('pairs-least'); e.value = '0.3';"
        " e.dispatchEvent(new Event('change')); })()"
    )
    least = store.snapped(0.3)
    wanted = len(store.partners(7, least).score)
    page.wait_for(f"{status}.startsWith('<b>7</b>: {wanted} partners with 0.3')")
    page.ask("document.getElementById('pairs-save').click()")
    partner = "document.querySelector('#pairs-table td:nth-child(2) a')"
    name = page.ask(f"{partner}.textContent")
    page.ask(f"{partner}.click()")
    page.wait_for(f"{status}.startsWith({json.dumps(name)} + ': ')")
    for _ in range(100):
        if saved.exists():
            break
        page.ask("1")
    assert len(saved.read_text().splitlines()) == wanted + 1
