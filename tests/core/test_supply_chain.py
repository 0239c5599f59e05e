"""What is taken from others has a version, a licence and a checksum: vendored scripts, the base of
the image; and what is handed out holds the package alone."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
import yaml
from documents import text_of
from paths import ROOT

PAGE_SCRIPTS = ROOT / "workflow/pairtile/report/vendor"
SITE_SCRIPTS = ROOT / "docs/vendor"
ROW = re.compile(r"\| `(\S+\.js)` \| (\S+) \| (\d+\.\d+\.\d+) \| ([^|]+) \|")
TABLE = {row[0]: row[1:] for row in ROW.findall(text_of(PAGE_SCRIPTS / "README.md"))}
IN_ARCHIVE = {
    "cytoscape.min.js": "dist/cytoscape.min.js",
    "datatables.min.js": "js/dataTables.min.js",
    "3dmol.min.js": "build/3Dmol-min.js",
    "vega.min.js": "build/vega.min.js",
    "vega-interpreter.min.js": "build/vega-interpreter.min.js",
    "vega-lite.min.js": "build/vega-lite.min.js",
}


def scripts() -> list[Path]:
    return sorted([*PAGE_SCRIPTS.glob("*.js"), *SITE_SCRIPTS.glob("*.js")])


@pytest.mark.parametrize("script", scripts(), ids=lambda path: path.name)
def test_a_vendored_script_is_what_it_was_with_version_and_licence(script: Path) -> None:
    sums = dict(line.split()[::-1] for line in text_of(script.parent / "SHA256SUMS").splitlines())
    assert sums[script.name] == hashlib.sha256(script.read_bytes()).hexdigest()
    if script.parent == SITE_SCRIPTS:
        assert re.search(
            rf"{script.name} # \S+ \d+\.\d+\.\d+ \(MIT\)", text_of(ROOT / "mkdocs.yml")
        )
        assert text_of(SITE_SCRIPTS / f"LICENSE.{script.stem}")
        return
    package, version, licence = TABLE[script.name]
    named = re.search(r"LICENSE\.[\w-]+", licence)
    file = named[0] if named else f"LICENSE.{script.name.partition('.')[0]}"
    assert ("MIT" if "MIT" in licence else "Redistribution") in text_of(PAGE_SCRIPTS / file) or (
        "Permission is hereby granted" in text_of(PAGE_SCRIPTS / file)
    )
    assert version
    assert package


def test_no_vendored_script_is_left_out_of_the_table() -> None:
    assert TABLE.keys() == IN_ARCHIVE.keys() == {path.name for path in PAGE_SCRIPTS.glob("*.js")}


@pytest.mark.install
@pytest.mark.skipif(not shutil.which("npm"), reason="needs npm")
@pytest.mark.parametrize("name", IN_ARCHIVE)
def test_a_vendored_script_is_that_of_npm(name: str, tmp_path: Path) -> None:
    package, version, _ = TABLE[name]
    subprocess.run(
        ["npm", "pack", f"{package}@{version}"], cwd=tmp_path, check=True, capture_output=True
    )
    [archive] = tmp_path.glob("*.tgz")
    with tarfile.open(archive) as packed:
        held = packed.extractfile(f"package/{IN_ARCHIVE[name]}")
        assert held
        assert held.read() == (PAGE_SCRIPTS / name).read_bytes()


IMAGES = ("Containerfile", "Apptainer.def")
LOCKED_BASE = r"(?:FROM|From:) docker\.io/library/python:\d\.\d+-slim@sha256:[0-9a-f]{64}\n"


def test_images_start_from_one_base_that_is_named_by_its_content() -> None:
    bases = {re.findall(LOCKED_BASE, text_of(ROOT / name))[0].split()[1] for name in IMAGES}
    assert len(bases) == 1
    for name in IMAGES:
        assert len(re.findall(r"^from\b", text_of(ROOT / name), re.M | re.I)) == 1


@pytest.mark.parametrize("name", IMAGES)
def test_an_image_holds_what_is_locked(name: str) -> None:
    text = text_of(ROOT / name).replace("\\\n", " ")
    installs = re.findall(r"pip install ([^&\n]*)", text)
    assert len(installs) == 2
    assert "--require-hashes" in installs[0]
    assert "lock.txt" in installs[0]
    assert "--no-deps" in installs[1]
    assert "--no-build-isolation" in installs[1]  # else the newest setuptools is fetched
    assert "envs/build.txt" in installs[0]
    locked = text_of(ROOT / "envs/build.txt")
    assert re.search(r"^setuptools==\S+ \\\n    --hash=sha256:[0-9a-f]{64}", locked, re.M)
    assert "://" not in locked


def test_the_image_does_not_run_as_root() -> None:
    lines = text_of(ROOT / "Containerfile").splitlines()
    [user] = [line.split()[1] for line in lines if line.startswith("USER ")]
    assert user not in ("0", "root")
    place = lines.index(f"USER {user}")
    assert not [line for line in lines[place:] if line.startswith("RUN ")]


def test_a_release_comes_from_a_tag_and_never_from_a_branch() -> None:
    release = yaml.safe_load(text_of(ROOT / ".github/workflows/release.yml"))
    assert release[True] == {"push": {"tags": ["v*"]}}  # `on`, which YAML takes for true
    steps = [step for job in release["jobs"].values() for step in job["steps"]]
    assert not [step for step in steps if "ref" in step.get("with", {})]


def test_who_reports_a_vulnerability_finds_how() -> None:
    assert "Report a vulnerability" in text_of(ROOT / "SECURITY.md")
    assert "](docs/security.md)" in text_of(ROOT / "SECURITY.md")
