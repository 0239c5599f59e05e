"""Inputs by http and https: fetched once, with the right checksum or not at all."""

from __future__ import annotations

import hashlib
import shutil
import ssl
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest
from pairtile.config.addresses import download_path
from pairtile.config.load import load_config
from pairtile.errors import ConfigError, InputError
from pairtile.io.input_files import local_inputs
from pairtile.runtime.files import read_json
from pairtile.steps.download import download
from programs import QuietFiles, web_server
from workflow_runs import (
    FINISHED,
    Analysis,
    finished_run,
    run,
    temporary_files,
    write_config,
    write_data,
)

pytestmark = pytest.mark.complete

CONTENT = b"gene\ta\tb\n" * 1000


def sha256(content: bytes) -> str:
    return "sha256:" + hashlib.sha256(content).hexdigest()


RIGHT = sha256(CONTENT)
WRONG = sha256(b"another file")


@dataclass
class Server:
    """A web server on this machine, with faults on request."""

    address: str
    folder: Path
    asked: list[str] = field(default_factory=list)
    faults: list[int | str] = field(default_factory=list)
    """For the next requests: a status to answer with, or what else to do."""


class Handler(QuietFiles):
    def __init__(self, *arguments: object, server_of: Server, **named: object) -> None:
        self.of = server_of
        super().__init__(*arguments, **named)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        self.of.asked.append(self.path)
        fault = self.of.faults.pop(0) if self.of.faults else None
        if isinstance(fault, int):
            self.send_error(fault)
        elif fault == "short":
            self.send_response(200)
            self.send_header("Content-Length", str(len(CONTENT)))
            self.end_headers()
            self.wfile.write(CONTENT[:100])
        elif fault is not None:
            self.send_response(302)
            self.send_header("Location", fault)
            self.end_headers()
        else:
            super().do_GET()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    folder = tmp_path / "served"
    folder.mkdir()
    (folder / "table.tsv").write_bytes(CONTENT)
    made = Server("", folder)
    handler = partial(Handler, server_of=made, directory=str(folder))
    with web_server(handler) as address:
        made.address = f"http://{address}"
        yield made


def nothing_at(out: Path) -> bool:
    return not out.exists() and temporary_files(out.parent) == []


# --- the download itself ------------------------------------------------------------------------


@pytest.mark.parametrize("checksum", [RIGHT, "md5:" + hashlib.md5(CONTENT).hexdigest()])
def test_a_file_with_the_right_checksum_is_taken(
    server: Server, tmp_path: Path, checksum: str
) -> None:
    download(f"{server.address}/table.tsv", checksum, tmp_path / "out.tsv")
    assert (tmp_path / "out.tsv").read_bytes() == CONTENT
    assert temporary_files(tmp_path) == []


def test_a_file_with_another_checksum_is_named_and_nothing_of_it_stays(
    server: Server, tmp_path: Path
) -> None:
    address = f"{server.address}/table.tsv"
    with pytest.raises(InputError) as raised:
        download(address, WRONG, tmp_path / "out.tsv")
    assert all(
        word in str(raised.value)
        for word in (address, f"found a file with the checksum {RIGHT}", f"expected {WRONG}")
    )
    assert nothing_at(tmp_path / "out.tsv")
    assert len(server.asked) == 1  # another attempt would bring the same


def test_faults_that_may_pass_are_tried_again(server: Server, tmp_path: Path) -> None:
    server.faults = [503, "short", 429]
    download(f"{server.address}/table.tsv", RIGHT, tmp_path / "out.tsv", waits=(0, 0, 0))
    assert (tmp_path / "out.tsv").read_bytes() == CONTENT
    assert len(server.asked) == 4


@pytest.mark.parametrize(
    ("faults", "said", "attempts"),
    [
        ([404], "status 404", 1),
        ([403], "status 403", 1),
        ([503] * 3, "status 503", 3),
        (["short"] * 3, "100 of 9,000 bytes", 3),
        (["file:///etc/passwd"], "file:///etc/passwd' is not allowed", 1),
        (["ftp://127.0.0.1/table.tsv"], "a redirection to ftp:", 1),
    ],
)
def test_a_file_that_cannot_be_had_is_a_clear_error(
    server: Server, tmp_path: Path, faults: list[int | str], said: str, attempts: int
) -> None:
    server.faults = faults
    with pytest.raises(InputError, match=said) as raised:
        download(f"{server.address}/table.tsv", RIGHT, tmp_path / "out.tsv", waits=(0, 0))
    assert "table.tsv: found" in str(raised.value)
    assert len(server.asked) == attempts
    assert nothing_at(tmp_path / "out.tsv")


def test_a_redirection_to_a_web_server_is_followed(server: Server, tmp_path: Path) -> None:
    server.faults = [f"{server.address}/table.tsv"]
    download(f"{server.address}/moved", RIGHT, tmp_path / "out.tsv")
    assert (tmp_path / "out.tsv").read_bytes() == CONTENT


@pytest.mark.parametrize(
    "address", ["http://127.0.0.1:1/x.tsv", "http://no-such-host.invalid/x.tsv", "http:///x.tsv"]
)
def test_a_server_that_cannot_be_reached_is_a_clear_error(tmp_path: Path, address: str) -> None:
    with pytest.raises(InputError, match=r"x\.tsv: found no file \(.+\); expected a file"):
        download(address, RIGHT, tmp_path / "out.tsv", waits=(0,))
    assert nothing_at(tmp_path / "out.tsv")


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl to make a certificate")
def test_https_needs_a_certificate_that_is_trusted(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1"),
            *("-keyout", str(key), "-out", str(certificate), "-subj", "/CN=localhost"),
            *("-addext", "subjectAltName=DNS:localhost"),
        ],
        check=True,
        capture_output=True,
    )
    handler = partial(Handler, server_of=server, directory=str(server.folder))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with web_server(handler, partial(context.wrap_socket, server_side=True)) as place:
        address = f"https://localhost:{place.split(':')[1]}/table.tsv"
        with pytest.raises(InputError, match="certificate"):
            download(address, RIGHT, tmp_path / "untrusted.tsv", waits=(0,))
        assert nothing_at(tmp_path / "untrusted.tsv")
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        download(address, RIGHT, tmp_path / "out.tsv")
    assert (tmp_path / "out.tsv").read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("https://x.org/a/expression.tsv.gz", "expression.tsv.gz"),
        ("https://x.org/download/?acc=GSE1&file=GSE1%5Fcounts.txt.gz", "GSE1_counts.txt.gz"),
        ("https://x.org/", "file"),
        ("https://x.org/%2e%2e%2f%2e%2e%2fetc%2fpasswd.tsv", "passwd.tsv"),
        ("https://x.org/..", "file"),
        ("https://x.org/.profile.tsv", "profile.tsv"),
        ("https://x.org/a{b}$(rm%20x).tsv", "a_b___rm_x_.tsv"),
        ("https://x.org/" + "a" * 300 + ".tsv", "a" * 96 + ".tsv"),
    ],
)
def test_a_download_keeps_a_harmless_name_below_the_results(address: str, name: str) -> None:
    assert download_path(address, "SHA256:AB12") == f".downloads/sha256-ab12/{name}"


# --- in the configuration -----------------------------------------------------------------------


def section(expression: str = "https://x.org/table.tsv") -> dict[str, object]:
    return {"net": {"method": "mutual_information", "expression": expression}}


@pytest.mark.parametrize(
    ("expression", "checksums", "message"),
    [
        ("https://x.org/t.tsv", {}, r"checksums\.https://x\.org/t\.tsv: found no such key; "
         r"expected the checksum of analyses\.net\.expression"),
        ("t.tsv", {"u.tsv": RIGHT}, r"checksums\.u\.tsv: .*expected the checksum of a file that"),
        ("t.tsv", {"t.tsv": "12ab"}, r"checksums\.t\.tsv: found '12ab'; expected sha256: and 64"),
        ("t.tsv", {"t.tsv": "sha1:" + "0" * 40}, "expected sha256: and 64"),
        ("t.tsv", [RIGHT], "checksums: found .*expected a mapping"),
        ("https://me:secret@x.org/t.tsv", {"https://me:secret@x.org/t.tsv": RIGHT},
         r"analyses\.net\.expression: .*without a user name or password"),
    ],
)  # fmt: skip
def test_checksums_that_do_not_fit_are_refused(
    expression: str, checksums: object, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        load_config({"analyses": section(expression), "checksums": checksums})


def test_a_checksum_may_stand_for_any_input_of_a_list() -> None:
    address = "http://x.org/run2.dcd"
    motion = {
        "method": "trajectory_correlation",
        "topology": "a.pdb",
        "trajectories": ["run1.dcd", [address, "part2.dcd"]],
    }
    config = load_config({"analyses": {"m": motion}, "checksums": {address: RIGHT}})
    local = config.analyses["m"].input_files() | {"trajectories.1.0": "/kept/run2.dcd"}
    found, _ = local_inputs(config.analyses["m"], local)
    assert found.resolved()["trajectories"] == ["run1.dcd", ["/kept/run2.dcd", "part2.dcd"]]
    assert config.analyses["m"].resolved()["trajectories"] == ["run1.dcd", [address, "part2.dcd"]]


# --- in a run -----------------------------------------------------------------------------------


@pytest.mark.complete
@pytest.mark.workflow
def test_inputs_by_http_give_the_same_network_and_are_fetched_once(
    server: Server, tmp_path: Path
) -> None:
    write_data(server.folder)
    files = {
        "expression": f"{server.address}/expression.tsv",
        "regulators": f"{server.address}/get?id=7&name=regulators.txt",
        "gold_standard": f"{server.address}/gold_standard.tsv",
    }
    (server.folder / "get").write_bytes((server.folder / "regulators.txt").read_bytes())
    content = {
        key: (server.folder / f"{key}{end}").read_bytes()
        for key, end in (("expression", ".tsv"), ("regulators", ".txt"), ("gold_standard", ".tsv"))
    }
    checksums = {files[key]: sha256(content[key]) for key in files}
    write_config(tmp_path, {"net": files, "again": files | {"score": "clr"}}, checksums=checksums)
    targets = [f"results/net/{name}" for name in ("summary.json", "network.tsv", "evaluation.json")]
    targets.append("results/again/plan.json")
    done = run(tmp_path, *targets)
    assert done.code == 0, done.text
    assert sorted(server.asked) == sorted(
        path.removeprefix(server.address) for path in files.values()
    )
    summary = read_json(tmp_path / "results/net/summary.json")
    assert {key: i["path"] for key, i in summary["inputs"].items()} == files
    assert {i["path"]: f"sha256:{i['sha256']}" for i in summary["inputs"].values()} == checksums

    here = tmp_path / "here"
    here.mkdir()
    write_data(here)
    local = {"regulators": "regulators.txt", "gold_standard": "gold_standard.tsv"}
    expected = Analysis(here, local).all()
    for name in ("network.tsv", "pairs.parquet", "evaluation.json"):
        found = (tmp_path / "results/net" / name).read_bytes()
        assert found == (expected.out / name).read_bytes()

    server.asked.clear()
    assert run(tmp_path, *targets).done_before
    assert server.asked == []


@pytest.mark.workflow
def test_a_wrong_checksum_stops_the_run_before_anything_is_read(
    server: Server, tmp_path: Path
) -> None:
    write_data(server.folder)
    write_data(tmp_path)
    address = f"{server.address}/expression.tsv"
    checksums = {address: WRONG, "expression.tsv": WRONG}
    analyses = {"web": {"expression": address}, "local": {"expression": "expression.tsv"}}
    write_config(tmp_path, analyses, checksums=checksums)
    done = run(tmp_path)
    assert done.code != 0
    right = sha256((tmp_path / "expression.tsv").read_bytes())
    for name in checksums:
        message = f"{name}: found a file with the checksum {right}; expected {WRONG}"
        assert message in done.text
    assert "Traceback" not in done.text
    left = [path for path in (tmp_path / "results").rglob("*") if path.is_file()]
    assert [path for path in left if path.suffix not in (".log", ".lock")] == []


@pytest.mark.complete
@pytest.mark.workflow
def test_a_checksum_may_be_stated_later_without_computing_again(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder, first = finished_run(tmp_path_factory)
    assert first.code == 0
    stated = {"expression.tsv": sha256((folder / "expression.tsv").read_bytes())}
    write_config(folder, FINISHED, results="out", checksums=stated)
    assert run(folder).done_before
