"""Tools for Galaxy, one for each method: what a form asks comes from the settings of the method."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from xml.sax.saxutils import escape, quoteattr

from pairtile.config.root import models
from pairtile.method import get_method

TABLES = "tabular,tsv,csv"
TABLE_KEYS = ("orientation", "duplicates")


class Test(NamedTuple):
    """Inputs as files of ``test-data``, settings, and what is expected: text of an output, or, where
    the run must fail, of the error."""

    inputs: Mapping[str, str]
    settings: Mapping[str, str]
    output: str
    text: str
    fails: bool = False


class Tool(NamedTuple):
    """What a form offers of a method's settings, and what people get back."""

    title: str
    description: str
    inputs: Mapping[str, str]
    """Key -> formats; keys that the method requires come first."""
    required: int
    settings: Sequence[str]
    """Keys, with points between a section and its key."""
    outputs: Mapping[str, str]
    """File -> format, beside those that every method writes."""
    operations: Sequence[str]
    """Terms of EDAM (edamontology.org)."""
    topics: Sequence[str]
    tests: Sequence[Test]


EXPRESSION = {"expression": "expression.tsv"}

TOOLS = {
    "mutual_information": Tool(
        title="pairtile mutual information",
        description="which genes go together, and who regulates whom",
        inputs={"expression": f"{TABLES},h5ad,loom", "regulators": "txt", "gold_standard": TABLES},
        required=1,
        settings=(*TABLE_KEYS, "score", "lag"),
        outputs={},
        operations=("operation_3463", "operation_2437"),
        topics=("topic_0602", "topic_3308"),
        tests=(
            Test(EXPRESSION, {}, "network", "source\ttarget\tmi_bits"),
            Test(
                EXPRESSION | {"regulators": "regulators.txt"},
                {"score": "clr"},
                "network",
                "source\ttarget",
            ),
            Test({"expression": "regulators.txt"}, {}, "", "found", fails=True),
        ),
    ),
    "multimodal_correlation": Tool(
        title="pairtile multimodal correlation",
        description="which genes go together in a part of the samples",
        inputs={"expression": f"{TABLES},h5ad,loom", "regulators": "txt"},
        required=1,
        settings=TABLE_KEYS,
        outputs={},
        operations=("operation_3463", "operation_3465"),
        topics=("topic_0602", "topic_3308"),
        tests=(
            Test(EXPRESSION, {}, "network", "source\ttarget"),
            Test(EXPRESSION | {"regulators": "regulators.txt"}, {}, "report", "edges"),
            Test({"expression": "regulators.txt"}, {}, "", "found", fails=True),
        ),
    ),
    "predictor_pairs": Tool(
        title="pairtile predictor pairs",
        description="which pairs of genes predict the next level of another",
        inputs={"levels": TABLES, "regulators": "txt", "targets": "txt"},
        required=1,
        settings=("orientation",),
        outputs={"predictors.tsv": "tabular"},
        operations=("operation_2437", "operation_3927"),
        topics=("topic_0602", "topic_2259"),
        tests=(
            Test({"levels": "levels.tsv"}, {}, "predictors", "target\trank\tpredictor_1"),
            Test(
                {"levels": "levels.tsv", "targets": "targets.txt"},
                {},
                "predictors",
                "g00",
            ),
            Test({"levels": "expression.tsv"}, {}, "", "found", fails=True),
        ),
    ),
    "mirna_targets": Tool(
        title="pairtile miRNA targets",
        description="sites of miRNAs in transcripts, as miRanda finds them",
        inputs={"mirnas": "fasta", "transcripts": "fasta"},
        required=2,
        settings=("on_bad_record", "estimator.strict", "estimator.score", "null.shuffles"),
        outputs={"hits.tsv": "tabular", "targets.tsv": "tabular", "miranda.txt": "txt"},
        operations=("operation_0463", "operation_0292"),
        topics=("topic_0659", "topic_0203"),
        tests=(
            Test(
                {"mirnas": "mirnas.fasta", "transcripts": "transcripts.fasta"},
                {},
                "hits",
                "mirna\ttranscript",
            ),
            Test(
                {"mirnas": "mirnas.fasta", "transcripts": "transcripts.fasta"},
                {"strict": "true", "shuffles": "20"},
                "targets",
                "mirna",
            ),
            Test(
                {"mirnas": "regulators.txt", "transcripts": "transcripts.fasta"},
                {},
                "",
                "found",
                fails=True,
            ),
        ),
    ),
    "trajectory_correlation": Tool(
        title="pairtile trajectory correlation",
        description="which residues of a protein move together",
        inputs={"topology": "pdb,gro", "trajectories": "xtc,trr,dcd,netcdf"},
        required=2,
        settings=("select", "score"),
        outputs={"matrices.npz": "npz"},
        operations=("operation_0244", "operation_3465"),
        topics=("topic_0176", "topic_2814"),
        tests=(
            Test(
                {"topology": "residues.pdb", "trajectories": "residues.xtc"}, {}, "report", "frames"
            ),
            Test(
                {"topology": "residues.pdb", "trajectories": "residues.xtc"},
                {"select": "name CA and resid 1:8", "score": "correlation"},
                "network",
                "source\ttarget",
            ),
            Test(
                {"topology": "residues.pdb", "trajectories": "residues.xtc"},
                {"select": "name XX"},
                "",
                "found",
                fails=True,
            ),
        ),
    ),
}


def schema_of(method: str, key: str) -> dict[str, Any]:
    """The JSON schema of a setting, and its default, from the model of the method."""
    whole = models()[method].model_json_schema()
    found: dict[str, Any] = whole
    for part in key.split("."):
        found = next(s for s in _forms(found, whole) if part in s.get("properties", {}))
        found = found["properties"][part]
    form = next((s for s in _forms(found, whole) if s.get("type") != "null"), {})
    return form | found


def _forms(schema: Mapping[str, Any], whole: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """A schema, or those of which it is one."""
    if "$ref" in schema:
        yield whole["$defs"][schema["$ref"].rpartition("/")[2]]
    for form in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        yield from _forms(form, whole)
    if not {"anyOf", "oneOf", "$ref"} & set(schema):
        yield dict(schema)


def sentences(method: str, key: str) -> tuple[str, str]:
    """Label and help of a setting: the first sentence of what it does, and the rest."""
    text = re.sub(r"[`*]", "", " ".join(schema_of(method, key)["description"].split()))
    first, _, rest = text.partition(". ")
    return first.rstrip("."), rest


def _default(method: str, key: str) -> object:
    """That of a setting; None within a section that is left out by default."""
    section = key.rpartition(".")[0]
    left_out = bool(section) and schema_of(method, section).get("default") in (None, False)
    return None if left_out else schema_of(method, key).get("default")


def _attributes(**given: object) -> str:
    return "".join(f" {name}={quoteattr(str(value))}" for name, value in given.items())


def _param(method: str, key: str) -> Iterator[str]:
    """The field of a form that asks for a setting."""
    found, name = schema_of(method, key), key.rpartition(".")[2]
    label, more = sentences(method, key)
    asked = {"label": label, "help": more} if more else {"label": label}
    default = _default(method, key)
    if "enum" in found:
        yield f"<param{_attributes(name=name, type='select', **asked)}>"
        for value in found["enum"]:
            chosen = {"selected": "true"} if value == default else {}
            words = escape(value.replace("_", " "))
            yield f"    <option{_attributes(value=value, **chosen)}>{words}</option>"
        yield "</param>"
    elif found["type"] == "boolean":
        choice = {"truevalue": "true", "falsevalue": "false", "checked": str(default).lower()}
        yield f"<param{_attributes(name=name, type='boolean', **choice, **asked)}/>"
    elif found["type"] in ("integer", "number"):
        kind = "integer" if found["type"] == "integer" else "float"
        bounds = {k: found[j] for k, j in (("min", "minimum"), ("max", "maximum")) if j in found}
        # Without a default the section is left out, as by default.
        value = {"optional": "true"} if default is None else {"value": default}
        yield f"<param{_attributes(name=name, type=kind, **value, **bounds, **asked)}/>"
    else:
        yield f"<param{_attributes(name=name, type='text', value=default, **asked)}>"
        yield '    <sanitizer invalid_char="">'
        yield '        <valid initial="string.ascii_letters,string.digits">'
        yield from (f'            <add value="{sign}"/>' for sign in " _-+:.*()")
        yield "        </valid>"
        yield "    </sanitizer>"
        yield "</param>"


def _inputs(method: str) -> Iterator[str]:
    tool = TOOLS[method]
    for place, (key, formats) in enumerate(tool.inputs.items()):
        label, more = sentences(method, key)
        asked = {"name": key, "type": "data", "format": formats}
        asked |= {"optional": "true"} if place >= tool.required else {}
        asked |= {"label": label} | ({"help": _short(more)} if _short(more) else {})
        yield f"<param{_attributes(**asked)}/>"
    for key in tool.settings:
        yield from _param(method, key)


def _short(text: str) -> str:
    """Without what is said of paths, which a form has not."""
    return re.sub(r" ?(Formats, by suffix:.*matrix\.mtx|A relative path [^.]*)\.", "", text)


ENDINGS = {"tabular": "tsv", "netcdf": "nc", "fasta": "fa"}
"""Type of Galaxy -> end of a file's name, where they differ."""


def _ending(key: str, formats: str) -> list[str]:
    """The line, if one is needed, that sets ``$KEY_ending`` to the end of an input's name."""
    if "," not in formats:
        return []
    names = {kind: end for kind, end in ENDINGS.items() if kind in formats.split(",")}
    return [f"#set ${key}_ending = {names}.get(str(${key}.ext), str(${key}.ext))"]


def _file(key: str, formats: str) -> str:
    """The name under which an input lies where the run looks for it."""
    only = ENDINGS.get(formats, formats)
    return f"{key}.${{{key}_ending}}" if "," in formats else f"{key}.{only}"


def _where_given(key: str, method: str, lines: list[str]) -> Iterator[str]:
    required = [*TOOLS[method].inputs].index(key) < TOOLS[method].required
    yield from lines if required else [f"#if ${key}", *lines, "#end if"]


def _command(method: str) -> Iterator[str]:
    yield "## The end of its name says what a file is."
    for key, formats in TOOLS[method].inputs.items():
        link = f"ln -s '${key}' '{_file(key, formats)}' &&"
        yield from _where_given(key, method, [*_ending(key, formats), link])
    yield "pairtile run '$settings' -- --cores \\${GALAXY_SLOTS:-1}"


def _settings(method: str) -> Iterator[str]:
    """The configuration that a run gets."""
    tool = TOOLS[method]
    yield "results: results"
    yield "analyses:"
    yield "  galaxy:"
    yield f"    method: {method}"
    for key, formats in tool.inputs.items():
        line = f"    {key}: '{_file(key, formats)}'"
        yield from _where_given(key, method, [*_ending(key, formats), line])
    for key in tool.settings:
        section, _, name = key.rpartition(".")
        if section and tool.settings.index(key) == _first(tool.settings, section):
            asks = [k.rpartition(".")[2] for k in tool.settings if k.startswith(f"{section}.")]
            given = ", ".join(f"{one}: ${one}" for one in asks)
            optional = _default(method, key) is None
            yield from [f"#if str(${name})"] if optional else []
            yield f"    {section}: {{{given}}}"
            yield from ["#end if"] if optional else []
        elif not section:
            yield f"    {key}: '${key}'" if _is_text(method, key) else f"    {key}: ${key}"
    yield "    export: [tsv, graphml]"


def _first(keys: Sequence[str], section: str) -> int:
    return next(place for place, key in enumerate(keys) if key.startswith(f"{section}."))


def _is_text(method: str, key: str) -> bool:
    found = schema_of(method, key)
    return found.get("type") == "string" and "enum" not in found


OUTPUTS = {
    "network.tsv": "tabular",
    "network.graphml": "xml",
    "report.html": "html",
    "summary.json": "json",
}


def _output_name(file: str) -> str:
    return "graphml" if file.endswith(".graphml") else file.partition(".")[0]


def _test(test: Test, tool: Tool) -> Iterator[str]:
    number = len(OUTPUTS) + len(tool.outputs)
    kind = {"expect_failure": "true"} if test.fails else {"expect_num_outputs": number}
    yield f"<test{_attributes(**kind)}>"
    for key, file in test.inputs.items():
        ending = file.rpartition(".")[2]
        asked = {"name": key, "value": file, "ftype": {"tsv": "tabular"}.get(ending, ending)}
        if test.fails and ending not in tool.inputs[key]:
            asked["ftype"] = tool.inputs[key].partition(",")[0]
        yield f"    <param{_attributes(**asked)}/>"
    for name, value in test.settings.items():
        yield f"    <param{_attributes(name=name, value=value)}/>"
    text = f"<has_text{_attributes(text=test.text)}/>".replace("\t", "&#009;")
    if test.fails:
        yield from ("    <assert_stderr>", f"        {text}", "    </assert_stderr>")
    else:
        yield f"    <output{_attributes(name=test.output)}>"
        yield from (
            "        <assert_contents>",
            f"            {text}",
            "        </assert_contents>",
        )
        yield "    </output>"
    yield "</test>"


def _block(name: str, lines: Iterator[str], **attributes: object) -> Iterator[str]:
    yield f"<{name}{_attributes(**attributes)}>"
    yield from (f"    {line}" for line in lines)
    yield f"</{name}>"


def _outputs(tool: Tool) -> Iterator[str]:
    for file, kind in (OUTPUTS | dict(tool.outputs)).items():
        place = {"from_work_dir": f"results/galaxy/{file}"}
        label = f"${{tool.name}} on ${{on_string}}: {file}"
        yield f"<data{_attributes(name=_output_name(file), format=kind, **place, label=label)}/>"


HELP = """\
**What it does**

{summary}

The report says what was done, with figures, warnings and references; it opens without a network connection.
``network.tsv`` has the edges, best first, with their scores and, where chance was asked, q-values.

Settings that the form does not ask follow the data. All of them are in the documentation_; analyses that need more
than the form run by ``pairtile run``.

.. _documentation: https://github.com/pairtile/pairtile/tree/v{version}/docs
"""


def _dois(method: str) -> list[str]:
    """The first of the method's own references."""
    text = (get_method(method).folder / "references.bib").read_text(encoding="utf-8")
    return re.findall(r"doi\s*=\s*\{(\S+)\}", text)[:3]


def tool_text(method: str, version: str) -> str:
    """The wrapper of a method."""
    tool = TOOLS[method]
    summary = " ".join((models()[method].__doc__ or "").split())
    command = "\n".join(_command(method))
    settings = "\n".join(_settings(method))
    lines = [
        *_block("description", iter(())),
        *_block("macros", iter([f'<token name="@TOOL_VERSION@">{version}</token>'])),
        *_block("edam_topics", (f"<edam_topic>{term}</edam_topic>" for term in tool.topics)),
        *_block(
            "edam_operations",
            (f"<edam_operation>{term}</edam_operation>" for term in tool.operations),
        ),
        *_block(
            "requirements",
            iter(['<requirement type="package" version="@TOOL_VERSION@">pairtile</requirement>']),
        ),
        "<version_command>pairtile --version</version_command>",
        f'<command detect_errors="exit_code"><![CDATA[\n{command}\n    ]]></command>',
        "<configfiles>",
        '    <configfile name="settings" filename="config.yaml"><![CDATA['
        f"{settings}\n]]></configfile>",
        "</configfiles>",
        *_block("inputs", _inputs(method)),
        *_block("outputs", _outputs(tool)),
        *_block("tests", (line for test in tool.tests for line in _test(test, tool))),
        f"<help><![CDATA[\n{HELP.format(summary=summary, version=version)}    ]]></help>",
        *_block("citations", (f'<citation type="doi">{doi}</citation>' for doi in _dois(method))),
    ]
    lines[:2] = [f"<description>{escape(tool.description)}</description>"]
    head = _attributes(
        id=f"pairtile_{method}",
        name=tool.title,
        version="@TOOL_VERSION@+galaxy0",
        profile="24.2",
        license="BSD-3-Clause",
    )
    body = "\n".join(f"    {line}" for line in lines)
    return f"<tool{head}>\n{body}\n</tool>\n"


def shed_text(home: str) -> str:
    """What the Galaxy tool shed asks for."""
    return f"""\
# Written by registries/generate.py.
name: pairtile
owner: iuc
description: Networks from every pair of a data set, on CPU or GPU
homepage_url: {home}
long_description: |
  Scores every pair of genes, of miRNAs and transcripts, or of residues, tests which scores are larger than chance,
  and hands out a network with a report.
remote_repository_url: {home}
type: unrestricted
categories:
  - Transcriptomics
  - Systems Biology
  - Molecular Dynamics
auto_tool_repositories:
  name_template: "{{{{ tool_id }}}}"
  description_template: "{{{{ tool_name }}}}"
suite:
  name: suite_pairtile
  description: Networks from every pair of a data set
"""
