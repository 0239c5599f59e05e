"""The files of one analysis: what its rules make and ask for.

Kept out of the rules so that it can be read and tested as Python; the rules turn wildcards into
calls of these methods. Parts that only the plan knows take ``plan.json`` as it was read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

from pairtile.config.downstream import GROUP_TABLES, STAGES, stage_tables, stages_of
from pairtile.config.export_formats import EXPORT_FORMATS, FORMAT_OF_SUFFIX, exported_formats
from pairtile.config.models import Analysis

Plan = Mapping[str, Any]


def chunk_name(chunk: Mapping[str, Any]) -> str:
    """The name of a chunk in ``plan.json``, as in the file names."""
    return f"tiles-{chunk['first_tile']:06d}-{chunk['last_tile']:06d}"


@dataclass(frozen=True)
class ResultFiles:
    """Paths below ``folder`` (``results/NAME``) of the analysis that ``config`` describes."""

    folder: str
    config: Analysis

    def wanted(self) -> list[str]:
        """What a run makes of the analysis."""
        names = ["items.parquet", "pairs.parquet", "network.parquet", "summary.json", "report.html"]
        tables = [*self.tables(), *self.stages()]
        return [*self.paths(names), *self.evaluation(), *tables, *self.exports()]

    def outputs(self, of_group: bool) -> tuple[list[str], list[str]]:
        """Files and folders of a job that makes all of the analysis. ``of_group``: it is compared
        with others of its kind, which takes its values."""
        more = ["plan.json", "chunks.npz", "scores.npz", "steps/report.json"]
        files = [*self.wanted(), *self.network_data(), *self.paths(more)]
        folders = ["state", "figures", *["values"] * bool(of_group or self.stages())]
        return list(dict.fromkeys(files)), self.paths(folders)

    def no_longer_wanted(self, n_edges: int) -> list[str]:
        """What another configuration of the analysis made, and this one does not ask for."""
        exports = (f"network.{suffix}" for suffix in FORMAT_OF_SUFFIX)
        of_stages = (table for stage in STAGES for table in stage.tables)
        tables = (*self.config.tables, *of_stages, *GROUP_TABLES)
        known = self.paths([*exports, *tables, "evaluation.json"])
        wanted = {*self.wanted(), *self.exports(n_edges)}
        return [path for path in known if path not in wanted]

    def exports(self, n_edges: float = inf) -> list[str]:
        """The network in the formats that are asked for; without the number of its edges those that
        are written in any case."""
        formats = exported_formats(self.config.export, n_edges)
        return self.paths(f"network.{EXPORT_FORMATS[name].suffix}" for name in formats)

    def tables(self) -> list[str]:
        """The tables of the method's own that are asked for."""
        return self.paths(self.config.result_tables())

    def stages(self) -> list[str]:
        """The tables of the stages that follow the network."""
        return self.paths(stage_tables(self.config))

    def stage_tables(self, *names: str) -> list[str]:
        """Those of some of these stages; none for no name."""
        return self.paths(stage_tables(self.config, *names)) if names else []

    def node_tables(self) -> list[str]:
        """Those of them that graphs take attributes of nodes from."""
        return self.paths(t for t in self.config.result_tables() if t in self.config.node_tables)

    def tables_record(self) -> list[str]:
        """The record of the step that wrote these."""
        return self._if(self.node_tables(), "steps/tables.json")

    def evaluation(self) -> list[str]:
        """The comparison with a gold standard, where there is one."""
        return self._if(getattr(self.config, "gold_standard", None), "evaluation.json")

    def network_data(self) -> list[str]:
        """What network and tables alone need, where the analysis has it."""
        return self._if(self.config.needs_network_data, "network_data.npz")

    def report_state(self) -> list[str]:
        """The state, where the page shows what it holds."""
        return self._if(self.config.jobs.report_state, "state")

    def report_pairs(self) -> list[str]:
        """The merged table, where the page shows what it holds."""
        return self._if(self.config.jobs.report_pairs, "pairs.parquet")

    def chunks(self, plan: Plan, stage: str) -> list[str]:
        """Every chunk file of a stage (``scan`` or ``chunks``)."""
        return self.paths(f"{stage}/{chunk_name(chunk)}.parquet" for chunk in plan["chunks"])

    def scan(self, plan: Plan) -> list[str]:
        """Sums of the first pass, where the analysis has one."""
        return self._if(plan["scan"], "scan.npz")

    def null(self, plan: Plan) -> list[str]:
        """The null distribution, where the method has one (an older plan does not say: it has)."""
        return self._if(plan.get("null", True), "null.npz")

    def bootstraps(self, plan: Plan) -> list[str]:
        """Edges of bootstrap networks, a file for each job."""
        jobs = plan["bootstraps"]
        return self.paths(f"bootstraps/{j['first']:05d}-{j['last']:05d}.parquet" for j in jobs)

    def records(self, plan: Plan) -> list[str]:
        """Records of the steps that the analysis has, in their order."""
        steps = {
            "prepare": True,
            "network_data": self.network_data(),
            "plan": True,
            "null": self.null(plan),
            "merge_scan": plan["scan"],
            "merge": True,
            "network": True,
            "evaluate": self.evaluation(),
            "tables": self.tables(),
            "values": self.stages(),
            **{stage.name: stage.tables for stage in stages_of(self.config)},
        }
        return self.paths(f"steps/{step}.json" for step, there in steps.items() if there)

    def paths(self, names: Iterable[str]) -> list[str]:
        """Files of these names."""
        return [f"{self.folder}/{name}" for name in names]

    def _if(self, there: object, name: str) -> list[str]:
        return [f"{self.folder}/{name}"] if there else []


def table_rules(analyses: Mapping[str, Analysis]) -> dict[str, tuple[tuple[str, ...], str]]:
    """Rule name -> the tables that it writes, and a pattern of the names of its analyses.

    One rule for each method with tables of its own, and more where analyses of one method ask for
    different ones: a rule's outputs are fixed, so that no wildcard could stand for them.
    """
    groups: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for name, config in analyses.items():
        if tables := config.result_tables():
            groups.setdefault((config.method, tables), []).append(re.escape(name))
    rules: dict[str, tuple[tuple[str, ...], str]] = {}
    for (method, tables), names in groups.items():
        number = sum(other.startswith(f"tables_{method}") for other in rules)
        rule = f"tables_{method}" + (f"_{number + 1}" if number else "")
        rules[rule] = (tables, "|".join(names))
    return rules
