"""Inputs and results on S3: the same bytes as on a disk, on whichever machine a run goes on."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pairtile.runtime.files import write_json
from workflow_runs import Run, run, write_config, write_data

NEEDED = ("moto", "boto3", "snakemake_storage_plugin_s3")
LACKING = [name for name in NEEDED if importlib.util.find_spec(name) is None]
pytestmark = [
    pytest.mark.storage,
    pytest.mark.workflow,
    pytest.mark.skipif(bool(LACKING), reason=f"needs {', '.join(LACKING)} (make test-storage)"),
]

BUCKET = "experiments"
DEFAULT = ("--default-storage-provider", "s3", "--default-storage-prefix", f"s3://{BUCKET}/p")
SECTION: dict[str, Any] = {
    "regulators": "regulators.txt",
    "gold_standard": "gold_standard.tsv",
    "chunks": 3,
    "bootstraps": 2,
    "keep": {"p_value": 0.01},
    "export": ["tsv", "graphml"],
}
FILES = ("expression.tsv", "regulators.txt", "gold_standard.tsv")
SAME = ("pairs.parquet", "network.parquet", "network.tsv", "network.graphml", "evaluation.json")


@dataclass
class Store:
    """A bucket of a pretend S3."""

    client: Any

    def keys(self) -> list[str]:
        found = self.client.list_objects_v2(Bucket=BUCKET).get("Contents", [])
        return [entry["Key"] for entry in found]

    def get(self, key: str) -> bytes:
        content: bytes = self.client.get_object(Bucket=BUCKET, Key=key)["Body"].read()
        return content

    def put(self, key: str, content: bytes) -> None:
        self.client.put_object(Bucket=BUCKET, Key=key, Body=content)

    def delete(self, *keys: str) -> None:
        for key in keys:
            self.client.delete_object(Bucket=BUCKET, Key=key)

    def changed(self) -> dict[str, Any]:
        found = self.client.list_objects_v2(Bucket=BUCKET)["Contents"]
        return {entry["Key"]: entry["LastModified"] for entry in found}


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    import boto3
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    settings = {
        "SNAKEMAKE_STORAGE_S3_ENDPOINT_URL": f"http://{host}:{port}",
        "SNAKEMAKE_STORAGE_S3_ACCESS_KEY": "test",
        "SNAKEMAKE_STORAGE_S3_SECRET_KEY": "test",
    }
    os.environ.update(settings)
    client = boto3.client(
        "s3",
        endpoint_url=settings["SNAKEMAKE_STORAGE_S3_ENDPOINT_URL"],
        aws_access_key_id="test",
        aws_secret_access_key="test",
        region_name="us-east-1",
    )
    client.create_bucket(Bucket=BUCKET)
    yield Store(client)
    server.stop()
    for name in settings:
        del os.environ[name]


def machine(folder: Path, name: str, **top: Any) -> Path:
    """A machine of its own: a working directory with the configuration and nothing else."""
    made = folder / name
    made.mkdir()
    write_config(made, {"net": SECTION}, **top)
    return made


def on_s3(folder: Path, *arguments: str) -> Run:
    return run(folder, *DEFAULT, *arguments)


@pytest.fixture(scope="module")
def finished(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of machines; on ``one`` an analysis went from S3 to S3, on ``disk`` from disk to
    disk."""
    folder = tmp_path_factory.mktemp("machines")
    disk = machine(folder, "disk")
    write_data(disk, 40, 40)
    assert run(disk).code == 0
    for name in FILES:
        store.put(f"p/{name}", (disk / name).read_bytes())
    done = on_s3(machine(folder, "one"))
    assert done.code == 0, done.text
    return folder


def test_results_on_s3_are_those_on_a_disk(store: Store, finished: Path) -> None:
    on_disk = {
        f"p/{path.relative_to(finished / 'disk')}"
        for path in (finished / "disk/results").rglob("*")
        if path.is_file()
    }
    assert set(store.keys()) == on_disk | {f"p/{name}" for name in FILES}
    for name in SAME:
        assert (
            store.get(f"p/results/net/{name}")
            == (finished / "disk/results/net" / name).read_bytes()
        ), name
    summary = json.loads(store.get("p/results/net/summary.json"))
    assert {key: i["path"] for key, i in summary["inputs"].items()} == {
        "expression": "expression.tsv",
        "regulators": "regulators.txt",
        "gold_standard": "gold_standard.tsv",
    }


def test_nothing_but_snakemakes_own_folder_is_left_on_the_machine(finished: Path) -> None:
    assert {path.name for path in (finished / "one").iterdir()} == {"config.yaml", ".snakemake"}


def test_any_machine_knows_that_nothing_is_to_be_done(store: Store, finished: Path) -> None:
    before = store.changed()
    assert on_s3(finished / "one").done_before
    assert on_s3(machine(finished, "two")).done_before
    assert on_s3(machine(finished, "dry"), "-n").done_before
    assert store.changed() == before


def test_another_machine_makes_only_what_is_lost(store: Store, finished: Path) -> None:
    network = store.get("p/results/net/network.tsv")
    store.delete("p/results/net/network.tsv", "p/results/net/report.html")
    done = on_s3(machine(finished, "three"))
    assert done.code == 0, done.text
    assert done.rules == {"export", "report"}
    assert store.get("p/results/net/network.tsv") == network


def test_a_plan_that_another_machine_replaced_is_read_anew(store: Store, finished: Path) -> None:
    folder = machine(finished, "four")
    local = folder / ".snakemake/storage/s3" / BUCKET / "p/results/net/plan.json"
    local.parent.mkdir(parents=True)
    outdated = json.loads(store.get("p/results/net/plan.json"))
    outdated["bootstraps"] = [{"first": 0, "last": 6}]
    write_json(local, outdated)
    os.utime(local, (1e9, 1e9))
    assert on_s3(folder).done_before


def test_a_damaged_chunk_in_storage_is_named_and_what_to_do_is_said(
    store: Store, finished: Path
) -> None:
    stored = store.keys()
    key = next(key for key in stored if "/chunks/tiles" in key and key.endswith("parquet"))
    whole = store.get(key)
    store.put(key, whole[: len(whole) // 2])
    store.delete("p/results/net/pairs.parquet")
    folder = machine(finished, "five")
    refused = on_s3(folder)
    assert refused.code != 0
    assert f"{key}: " in refused.text
    assert "remove it from the storage, or run again with --forcerun chunk" in refused.text
    assert "Traceback" not in refused.text
    store.delete(key)
    done = on_s3(folder)
    assert done.code == 0, done.text
    assert store.get(key)[: len(whole) // 4] == whole[: len(whole) // 4]
    for name in SAME:
        assert (
            store.get(f"p/results/net/{name}")
            == (finished / "disk/results/net" / name).read_bytes()
        ), name


def test_inputs_on_s3_serve_results_on_a_disk(store: Store, tmp_path: Path) -> None:
    write_data(tmp_path, 40, 40)
    content = (tmp_path / "expression.tsv").read_bytes()
    store.put("shared/expression.tsv", content)
    address = f"s3://{BUCKET}/shared/expression.tsv"
    right = f"sha256:{hashlib.sha256(content).hexdigest()}"
    section = {"expression": address, "regulators": "regulators.txt"}
    write_config(tmp_path, {"net": section}, checksums={address: "sha256:" + "0" * 64})
    refused = run(tmp_path)
    assert refused.code != 0
    assert f"{address}: found a file with the checksum {right}; expected" in refused.text
    assert not (tmp_path / "results/net/items.parquet").exists()

    write_config(tmp_path, {"net": section}, checksums={address: right})
    done = run(tmp_path)
    assert done.code == 0, done.text
    summary = json.loads((tmp_path / "results/net/summary.json").read_text())
    assert summary["inputs"]["expression"]["path"] == address
    assert run(tmp_path).done_before


def test_an_object_that_is_not_there_is_named(store: Store, tmp_path: Path) -> None:
    address = f"s3://{BUCKET}/shared/no_such.tsv"
    write_config(tmp_path, {"net": {"expression": address}})
    refused = run(tmp_path)
    assert refused.code != 0
    assert "Missing input files for rule prepare" in refused.text
    assert address in refused.text


def test_an_address_without_its_plugin_says_what_to_install(tmp_path: Path) -> None:
    write_config(tmp_path, {"net": {"expression": "dropbox://folder/x.tsv"}})
    refused = run(tmp_path)
    assert refused.code != 0
    assert "analyses.net.expression: found 'dropbox://folder/x.tsv'" in refused.text
    assert "snakemake-storage-plugin-dropbox" in refused.text
    assert "Traceback" not in refused.text
