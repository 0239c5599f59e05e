"""The modules for nf-core/modules: PAIRTILE_NETWORK, which is ``pairtile network`` in a process of
Nextflow, and PAIRTILE_DEMO, which lays the files of the demo.

Their tests need no file from elsewhere: those of the first take what the second lays.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

MODULES = "modules/nf-core/pairtile"
EMPTY = "d41d8cd98f00b204e9800998ecf8427e"
"""MD5 of an empty file, as a stub makes them."""

BIOCONDA_BUILD = "pyhdfd78af_0"
"""What bioconda appends to the version of a package of Python alone, in its first build."""

TABLE_ENDINGS = "tsv,csv,gct,tsv.gz,csv.gz,parquet,h5ad,loom,h5"
STUB_FILES = ("network.tsv", "report.html", "summary.json")

ENVIRONMENT = """\
---
# yaml-language-server: $schema=https://raw.githubusercontent.com/nf-core/modules/master/modules/environment-schema.json
channels:
  - conda-forge
  - bioconda
dependencies:
  - bioconda::pairtile={version}
"""

MAIN = r"""process PAIRTILE_NETWORK {
    tag "$meta.id"
    label 'process_medium'

    conda "${moduleDir}/environment.yml"
    container "${ workflow.containerEngine in ['singularity', 'apptainer'] && !task.ext.singularity_pull_docker_container ?
        'https://depot.galaxyproject.org/singularity/pairtile:@VERSION@--@BUILD@':
        'quay.io/biocontainers/pairtile:@VERSION@--@BUILD@' }"

    input:
    tuple val(meta), path(expression)
    path regulators

    output:
    tuple val(meta), path("${prefix}/network/network.tsv"), emit: network
    tuple val(meta), path("${prefix}/network/network.*"), emit: exports
    tuple val(meta), path("${prefix}/network/report.html"), emit: report
    tuple val(meta), path("${prefix}/network/summary.json"), emit: summary
    tuple val("${task.process}"), val('pairtile'), eval("pairtile --version | sed 's/pairtile //'"), topic: versions, emit: versions_pairtile

    when:
    task.ext.when == null || task.ext.when

    script:
    def args = task.ext.args ?: ''
    prefix = task.ext.prefix ?: "${meta.id}"
    def regulators_option = regulators ? "--regulators ${regulators}" : ''
    '''
    pairtile \\
        network \\
        ${expression} \\
        --out ${prefix} \\
        ${regulators_option} \\
        ${args} \\
        -- \\
        --cores ${task.cpus}
    '''

    stub:
    prefix = task.ext.prefix ?: "${meta.id}"
    '''
    mkdir -p ${prefix}/network
    touch @STUB@
    '''
}
""".replace("'''", '"""')


OUTPUTS = (
    ("network", "network.tsv", "Edges with scores and q-values, best first", "*.tsv", "format_3475", "TSV"),
    ("exports", "network.*", "The network in every format that the setting export names", "network.*", "", ""),
    ("report", "report.html", "Report of the analysis on one page", "*.html", "format_2331", "HTML"),
    ("summary", "summary.json", "Inputs with checksums, settings, counts, versions, warnings", "*.json", "format_3464", "JSON"),
)  # fmt: skip

VERSIONS = """\
    - - {process}:
          type: string
          description: The name of the process
      - pairtile:
          type: string
          description: The name of the tool
      - pairtile --version | sed 's/pairtile //':
          type: eval
          description: The expression to obtain the version of the tool
"""


def _head(name: str, description: str, keywords: Sequence[str], home: str, summary: str) -> str:
    listed = "\n".join(f"  - {word}" for word in keywords)
    return f"""\
---
# yaml-language-server: $schema=https://raw.githubusercontent.com/nf-core/modules/master/modules/meta-schema.json
name: "pairtile_{name}"
description: {description}
keywords:
{listed}
tools:
  - "pairtile":
      description: "{summary}"
      homepage: "{home}"
      documentation: "{home}/tree/main/docs"
      tool_dev_url: "{home}"
      licence: ["BSD-3-Clause"]
      identifier: ""
"""


def _tail() -> str:
    versions = VERSIONS.format(process="${task.process}")
    channels = f"  versions_pairtile:\n{versions}\ntopics:\n  versions:\n{versions}"
    return channels + '\nauthors:\n  - "@pairtile"\nmaintainers:\n  - "@pairtile"\n'


def network_meta(home: str, summary: str) -> str:
    """What PAIRTILE_NETWORK is, and each of its channels."""
    description = (
        "Network of the genes of an expression table, with false discovery rates and a report"
    )
    keywords = ("gene regulatory network", "co-expression", "mutual information")
    lines = _head("network", description, keywords, home, summary)
    lines += f"""
input:
  - - meta:
        type: map
        description: |
          Groovy Map containing sample information
          e.g. `[ id:'sample1' ]`
    - expression:
        type: file
        description: Expression table, genes in rows and samples in columns
        pattern: "*.{{{TABLE_ENDINGS}}}"
        ontologies:
          - edam: "http://edamontology.org/format_3475" # TSV
  - regulators:
      type: file
      description: Optional list of regulators, one name a line; edges start at these
      pattern: "*.txt"
      ontologies: []

output:
"""
    for name, file, text, pattern, term, ending in OUTPUTS:
        of = f'\n            - edam: "http://edamontology.org/{term}" # {ending}' if term else " []"
        lines += f"""\
  {name}:
    - - meta:
          type: map
          description: |
            Groovy Map containing sample information
            e.g. `[ id:'sample1' ]`
      - "${{prefix}}/network/{file}":
          type: file
          description: {text}
          pattern: "{pattern}"
          ontologies:{of}
"""
    return lines + _tail()


DEMO_FILES = {
    "expression": ("expression.tsv.gz", "Simulated expression of 200 genes in 300 samples"),
    "regulators": ("regulators.txt", "Those of the genes that regulate others"),
    "gold_standard": ("gold_standard.tsv", "The true edges"),
}


def demo_meta(home: str, summary: str) -> str:
    """What PAIRTILE_DEMO is, and each of its channels."""
    description = "Lay down the input files of the demo of pairtile, as data to test with"
    keywords = ("gene regulatory network", "simulation", "test data")
    lines = _head("demo", description, keywords, home, summary) + "\noutput:\n"
    for name, (file, text) in DEMO_FILES.items():
        lines += f"""\
  {name}:
    - "config/demo/{file}":
        type: file
        description: {text}
        pattern: "*.{file.partition(".")[2]}"
        ontologies: []
"""
    return lines + _tail()


DEMO = r"""process PAIRTILE_DEMO {
    tag "demo"
    label 'process_single'

    conda "${moduleDir}/environment.yml"
    container "${ workflow.containerEngine in ['singularity', 'apptainer'] && !task.ext.singularity_pull_docker_container ?
        'https://depot.galaxyproject.org/singularity/pairtile:@VERSION@--@BUILD@':
        'quay.io/biocontainers/pairtile:@VERSION@--@BUILD@' }"

    output:
    path "config/demo/expression.tsv.gz", emit: expression
    path "config/demo/regulators.txt", emit: regulators
    path "config/demo/gold_standard.tsv", emit: gold_standard
    tuple val("${task.process}"), val('pairtile'), eval("pairtile --version | sed 's/pairtile //'"), topic: versions, emit: versions_pairtile

    when:
    task.ext.when == null || task.ext.when

    script:
    '''
    pairtile demo --files
    '''

    stub:
    '''
    mkdir -p config/demo
    echo "" | gzip > config/demo/expression.tsv.gz
    touch config/demo/regulators.txt config/demo/gold_standard.tsv
    '''
}
""".replace("'''", '"""')

DEMO_TEST = r"""nextflow_process {

    name "Test Process PAIRTILE_DEMO"
    script "../main.nf"
    process "PAIRTILE_DEMO"
    config "./nextflow.config"

    tag "modules"
    tag "modules_nfcore"
    tag "pairtile"
    tag "pairtile/demo"

    test("files of the demo") {

        then {
            assert process.success
            assertAll(
                { assert snapshot(process.out).match() }
            )
        }
    }

    test("files of the demo - stub") {

        options "-stub"

        then {
            assert process.success
            assertAll(
                { assert snapshot(process.out.findAll { key, val -> key.startsWith("versions") }).match() }
            )
        }
    }
}
"""

CONFIG = """\
// Another image than that of bioconda: nf-test test --pairtile_image ghcr.io/pairtile/pairtile:TAG
params.pairtile_image = null

process {
    withName: 'PAIRTILE_.*' {
        container = { params.pairtile_image ?: "quay.io/biocontainers/pairtile:@VERSION@--@BUILD@" }
    }
}
"""

TEST = r"""nextflow_process {

    name "Test Process PAIRTILE_NETWORK"
    script "../main.nf"
    process "PAIRTILE_NETWORK"
    config "./nextflow.config"

    tag "modules"
    tag "modules_nfcore"
    tag "pairtile"
    tag "pairtile/network"
    tag "pairtile/demo"

    setup {
        run("PAIRTILE_DEMO") {
            script "../../demo/main.nf"
        }
    }

    test("expression table and regulators") {

        when {
            process {
                '''
                input[0] = PAIRTILE_DEMO.out.expression.map { table -> [ [ id:'demo' ], table ] }
                input[1] = PAIRTILE_DEMO.out.regulators
                '''
            }
        }

        then {
            assert process.success
            assertAll(
                { assert path(process.out.network[0][1]).readLines()[0].startsWith("source\ttarget") },
                { assert path(process.out.report[0][1]).exists() },
                { assert snapshot(process.out.findAll { key, val -> key.startsWith("versions") }).match() }
            )
        }
    }

    test("expression table - stub") {

        options "-stub"

        when {
            process {
                '''
                input[0] = PAIRTILE_DEMO.out.expression.map { table -> [ [ id:'demo' ], table ] }
                input[1] = []
                '''
            }
        }

        then {
            assert process.success
            assert snapshot(process.out).match()
        }
    }
}
""".replace("'''", '"""')


def _channels(named: Mapping[str, object]) -> dict[str, object]:
    """Channels by their numbers and by their names, as nf-test keeps them."""
    numbers = {str(place): value for place, value in enumerate(named.values())}
    return numbers | dict(sorted(named.items()))


def _kept(content: Mapping[str, object]) -> str:
    return json.dumps({name: {"content": [one]} for name, one in content.items()}, indent=4) + "\n"


def network_snapshot(version: str) -> str:
    """What nf-test keeps of both tests: versions, and the empty files of the stub."""
    versions = {"versions_pairtile": [["PAIRTILE_NETWORK", "pairtile", version]]}
    table, page, summary = ([[{"id": "demo"}, f"{name}:md5,{EMPTY}"]] for name in STUB_FILES)
    named = {"network": table, "exports": table, "report": page, "summary": summary} | versions
    return _kept(
        {"expression table and regulators": versions, "expression table - stub": _channels(named)}
    )


def demo_snapshot(version: str, demo: Path) -> str:
    """What nf-test keeps: the files of the demo, of gzip what it holds, and versions."""
    versions = {"versions_pairtile": [["PAIRTILE_DEMO", "pairtile", version]]}
    named: dict[str, object] = {}
    for name, (file, _) in DEMO_FILES.items():
        held = (demo / file).read_bytes()
        held = gzip.decompress(held) if file.endswith(".gz") else held
        named[name] = [f"{file}:md5,{hashlib.md5(held).hexdigest()}"]
    return _kept(
        {"files of the demo": _channels(named | versions), "files of the demo - stub": versions}
    )


def module_files(version: str, home: str, summary: str, demo: Path) -> Iterator[tuple[str, str]]:
    """Path from the folder of modules, text. ``demo``: the folder of the files of the demo."""

    def filled(text: str) -> str:
        stub = " ".join(f"${{prefix}}/network/{name}" for name in STUB_FILES)
        text = text.replace("@STUB@", stub)
        return text.replace("@VERSION@", version).replace("@BUILD@", BIOCONDA_BUILD)

    yield ".nf-core.yml", "repository_type: modules\norg_path: nf-core\n"
    modules = {
        "network": (MAIN, network_meta(home, summary), TEST, network_snapshot(version)),
        "demo": (DEMO, demo_meta(home, summary), DEMO_TEST, demo_snapshot(version, demo)),
    }
    for name, (process, meta, test, snapshot) in modules.items():
        folder = f"{MODULES}/{name}"
        yield f"{folder}/environment.yml", ENVIRONMENT.format(version=version)
        yield f"{folder}/main.nf", filled(process)
        yield f"{folder}/meta.yml", meta
        yield f"{folder}/tests/nextflow.config", filled(CONFIG)
        yield f"{folder}/tests/main.nf.test", test
        yield f"{folder}/tests/main.nf.test.snap", snapshot
