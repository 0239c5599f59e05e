"""Write the files that registries ask for, from ``pyproject.toml`` and the settings of the methods.

    python registries/generate.py                                      # all of them
    python registries/generate.py --sdist dist/pairtile-0.2.0.tar.gz   # the recipe with its checksum

Environments of conda (``envs/*.yaml``), the recipe for bioconda, a tool for Galaxy of each method and
the modules for nf-core, the bibliography of the paper: none of them is edited by hand. ``make registries`` runs this, and
``tests/core/test_registries.py`` compares each file with what is written here.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from galaxy_tools import TOOLS, shed_text, tool_text
from nf_core_module import module_files
from pairtile import __version__

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
HOME = "https://github.com/pairtile/pairtile"

CONDA_NAMES = {
    "snakemake": "snakemake-minimal",
    "igraph": "python-igraph",
    "matplotlib": "matplotlib-base",
    "ViennaRNA": "viennarna",
    "MDAnalysis": "mdanalysis",
    "cupy-cuda12x": "cupy",
}
"""Name on the Python Package Index -> on conda-forge or bioconda, where they differ."""

UNKNOWN_CHECKSUM = "0" * 64
"""In place of that of a source that is not released yet."""


def conda_requirement(text: str) -> str:
    """``igraph>=0.11`` -> ``python-igraph >=0.11``."""
    found = re.fullmatch(r"([A-Za-z0-9_.-]+)(?:\[[^]]*\])?(.*)", text)
    if not found:
        raise ValueError(text)
    name, bounds = found.groups()
    return f"{CONDA_NAMES.get(name, name)} {bounds}".rstrip()


def conda_requirements(*extras: str) -> list[str]:
    """Python, what the package needs, and what extras add."""
    more = [text for extra in extras for text in PROJECT["optional-dependencies"][extra]]
    texts = PROJECT["dependencies"] + more
    return [f"python {PROJECT['requires-python']}", *map(conda_requirement, texts)]


def environment_text(*extras: str) -> str:
    """An environment in which the jobs run."""
    more = "With CuPy, for runs with `--resources gpu=N`. " if extras else ""
    lines = [
        "# What a job needs to run, for `snakemake --sdm conda`. pairtile itself is not installed:",
        "# the workflow puts its own folder on PYTHONPATH.",
        f"# {more}Written by registries/generate.py from pyproject.toml.",
        *("channels:", "  - conda-forge", "  - bioconda", "  - nodefaults", "dependencies:"),
        *(f"  - {text}" for text in conda_requirements(*extras)),
    ]
    if extras:
        lines.append("  - cuda-version >=12,<13")
    return "\n".join(lines) + "\n"


RECIPE = """\
# For bioconda: recipes/pairtile/meta.yaml. Written by registries/generate.py; --sdist fills in the checksum.
{{% set name = "pairtile" %}}
{{% set version = "{version}" %}}
{{% set sha256 = "{sha256}" %}}

package:
  name: {{{{ name }}}}
  version: "{{{{ version }}}}"

source:
  url: https://pypi.org/packages/source/{{{{ name[0] }}}}/{{{{ name }}}}/{{{{ name }}}}-{{{{ version }}}}.tar.gz
  sha256: "{{{{ sha256 }}}}"

build:
  number: 0
  noarch: python
  script: {{{{ PYTHON }}}} -m pip install . --no-deps --no-build-isolation --no-cache-dir -vvv
  entry_points:
{entry_points}
  run_exports:
    - {{{{ pin_subpackage(name, max_pin="x.x") }}}}

requirements:
  host:
{host}
  run:
{run}

test:
  imports:
    - pairtile
  commands:
    - pairtile --version
    - pairtile init mutual_information
    - pairtile demo
    - test -s results/demo/report.html

about:
  home: {home}
  summary: {summary}
  license: {license}
  license_family: BSD
  license_file: LICENSE
  dev_url: {home}
  doc_url: {home}/tree/v{{{{ version }}}}/docs

extra:
  recipe-maintainers:
    - MAINTAINER
  identifiers: []
  skip-lints: []
"""


def recipe_text(sha256: str) -> str:
    """The recipe for bioconda; before 1.0.0 the second number may break what links to it."""

    def listed(texts: list[str]) -> str:
        return "\n".join(f"    - {text}" for text in texts)

    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    return RECIPE.format(
        version=__version__,
        sha256=sha256,
        entry_points=listed([f"{name} = {place}" for name, place in PROJECT["scripts"].items()]),
        host=listed([conda_requirements()[0], "pip", *map(conda_requirement, build)]),
        run=listed(conda_requirements()),
        home=HOME,
        summary=PROJECT["description"],
        license=PROJECT["license"],
    )


def bibliography_text() -> str:
    """What the paper cites: entries of the package's own references, and those of other programs."""
    cited = set(re.findall(r"@([A-Z]+(?:_[A-Z0-9]+)+)", (ROOT / "paper/paper.md").read_text()))
    sources = sorted((ROOT / "workflow/pairtile").rglob("references.bib"))
    entries: dict[str, str] = {}
    for path in (*sources, ROOT / "registries/other_programs.bib"):
        for entry in re.findall(r"^@.*?^}", path.read_text(encoding="utf-8"), re.M | re.S):
            entries.setdefault(re.findall(r"\{(\w+),", entry)[0], entry)
    return "\n\n".join(entries[key] for key in sorted(cited)) + "\n"


def files(sha256: str = UNKNOWN_CHECKSUM) -> Iterator[tuple[str, str]]:
    """Path from the top of the repository, text."""
    yield "envs/pairtile.yaml", environment_text()
    yield "envs/pairtile-gpu.yaml", environment_text("cuda12")
    yield "registries/bioconda/meta.yaml", recipe_text(sha256)
    for method in TOOLS:
        yield f"registries/galaxy/pairtile_{method}.xml", tool_text(method, __version__)
    yield "paper/paper.bib", bibliography_text()
    yield "registries/galaxy/.shed.yml", shed_text(HOME)
    demo = ROOT / "config/demo"
    for name, text in module_files(__version__, HOME, PROJECT["description"], demo):
        yield f"registries/nf-core/{name}", text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sdist", type=Path, help="the released source, for its checksum")
    given = parser.parse_args()
    sha256 = hashlib.sha256(given.sdist.read_bytes()).hexdigest() if given.sdist else None
    for name, text in files(sha256 or UNKNOWN_CHECKSUM):
        path = ROOT / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(name)


if __name__ == "__main__":
    main()
