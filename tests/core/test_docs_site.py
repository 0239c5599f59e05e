"""The documentation as a site: it builds without a warning, needs no network, and lacks nothing."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pairtile
import pytest
import yaml
from lxml import html
from programs import snakemake
from workflow_runs import ROOT

pytestmark = pytest.mark.complete

MKDOCS = pytest.importorskip("mkdocs", reason="the extra `docs` is not installed")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(out)],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=280,
    )
    # --strict: a link or anchor that leads nowhere, or a page outside the navigation, is an error.
    assert done.returncode == 0, done.stdout
    return out


@pytest.mark.complete
def test_pages_load_nothing_from_elsewhere(site: Path) -> None:
    pages = sorted(site.glob("*.html"))
    assert len(pages) > 15
    for page in pages:
        text = page.read_text(encoding="utf-8")
        loaded = re.findall(r"<(?:script|img|iframe)\b[^>]*\bsrc=\"?([^\s\">]+)", text)
        loaded += re.findall(r"<link\b[^>]*\bhref=\"?([^\s\">]+)", text)
        assert not [address for address in loaded if re.match(r"(https?:)?//", address)], page.name
    for sheet in site.glob("assets/stylesheets/*.css"):
        assert not re.search(r"url\(\"?(https?:)?//", sheet.read_text(encoding="utf-8"))


def test_pages_from_outside_docs_are_there_and_linked(site: Path) -> None:
    start = (site / "index.html").read_text(encoding="utf-8")
    for name in ("configuration.html", "contributing.html", "changelog.html", "settings.html"):
        assert (site / name).is_file()
        assert re.search(rf"href=\"?(\./)?{re.escape(name)}", start), name
    assert (site / "LICENSE.txt").is_file()
    assert (site / "config/examples/mutual_information.yaml").is_file()


def test_notebooks_are_pages_with_their_figures_and_tables(site: Path) -> None:
    for path in (ROOT / "docs/notebooks").glob("*.ipynb"):
        page = html.parse(site / "notebooks" / f"{path.stem}.html")
        outputs = path.read_text(encoding="utf-8")
        figures = page.xpath("//article//img[starts-with(@src, 'data:image/png')]")
        assert len(figures) == outputs.count('"image/png"')
        assert len(page.xpath("//article//table")) >= outputs.count('"text/html"')
        assert page.xpath(f"//article//a[@href='{path.name}']")
    library = (site / "library.html").read_text(encoding="utf-8")
    assert re.search(r'href="?notebooks/motion\.html', library)


def test_every_public_function_is_in_the_reference(site: Path) -> None:
    page = (site / "api.html").read_text(encoding="utf-8")
    for name in set(pairtile.__all__) - {"__version__"}:
        assert f'id="pairtile.{name}"' in page, name


def test_the_configuration_page_shows_every_brace(site: Path) -> None:
    written = (ROOT / "config/README.md").read_text(encoding="utf-8").replace("\\", "")
    page = html.parse(str(site / "configuration.html")).getroot().find(".//article")
    shown = page.text_content()
    for bracketed in set(re.findall(r"\{[^{}|`\n]*\}", written)):
        assert bracketed in shown, bracketed
    assert shown.count("{") == written.count("{")


# --- the container recipe -------------------------------------------------------------------------


def recipe(instruction: str) -> list[str]:
    """The arguments of an instruction of the Containerfile, in order."""
    text = (ROOT / "Containerfile").read_text().replace("\\\n", " ")
    return re.findall(rf"^{instruction} (.+)$", text, re.MULTILINE)


def test_the_container_holds_all_that_the_workflow_needs(tmp_path: Path) -> None:
    """What the recipe copies is copied to another place; the demo is planned from there alone."""
    for line in recipe("COPY"):
        *sources, destination = line.split()
        for source in sources:
            to = tmp_path / destination / (source if destination == "./" else "")
            if (ROOT / source).is_dir():
                shutil.copytree(ROOT / source, to, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(ROOT / source, to)
    assert yaml.safe_load(recipe("ENTRYPOINT")[0]) == ["pairtile"]
    done = snakemake(tmp_path, "--snakefile", str(tmp_path / "Snakefile"), "-n")
    assert done.code == 0, done.text
    assert "analyse_1" in done.text


def test_the_container_sees_what_it_copies() -> None:
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    sent = {line[1:] for line in lines if line.startswith("!")}
    copied = {source for line in recipe("COPY") for source in line.split()[:-1]}
    assert copied == sent
    assert all((ROOT / source).exists() for source in copied)
    # Apptainer takes one source a line: a second would be the place to copy the first to.
    files = (ROOT / "Apptainer.def").read_text().split("%files\n")[1].split("\n\n")[0]
    pairs = [line.split() for line in files.splitlines()]
    assert {source for source, _ in pairs} == copied
    assert {destination for _, destination in pairs} == {"/opt/source/"}
