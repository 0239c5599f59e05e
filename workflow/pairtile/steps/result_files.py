"""The files of one analysis: what its rules make and ask for.

Kept out of the rules so that it can be read and tested as Python; the rules turn wildcards into
calls of these methods. Parts that only the plan knows take ``plan.json`` as it was read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

from pairtile.config.downstream import GROUP_TABLES, STAGES, stage_tables, stages_of
from pairtile.config.export_formats import EXPORT_FORMATS, FORMAT_OF_SUFFIX, exported_formats
from pairtile.config.models import Analysis
from pairtile.runtime.requests import chunk_name

Plan = Mapping[str, Any]


@dataclass(frozen=True)
class ResultFiles:
    """Paths below ``folder`` (``results/NAME``) of the analysis that ``config`` describes."""

    folder: str
    config: Analysis

    def wanted(self) -> list[str]:
        """What a run makes of the analysis."""
        names = ["items.parquet", "pairs.parquet", "network.parquet", "summary.json", "report.html"]
        tables = [*self.tables(), *self.stages()]
        return [*self.paths(names), *self.optional("evaluation.json"), *tables, *self.exports()]

    def outputs(self, of_group: bool) -> tuple[list[str], list[str]]:
        """Files and folders of a job that makes all of the analysis. ``of_group``: it is compared
        with others of its kind, which takes its values."""
        more = ["plan.json", "chunks.npz", "scores.npz", "steps/report.json"]
        files = [*self.wanted(), *self.optional("network_data.npz"), *self.paths(more)]
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

    def node_tables(self) -> list[str]:
        """Those of them that graphs take attributes of nodes from."""
        return self.paths(t for t in self.config.result_tables() if t in self.config.node_tables)

    def optional(self, name: str, plan: Plan | None = None) -> list[str]:
        """A file that not every analysis has, where this one has it; of state and merged pairs,
        where the page shows what they hold."""
        there = {
            "evaluation.json": getattr(self.config, "gold_standard", None),
            "network_data.npz": self.config.needs_network_data,
            "steps/tables.json": self.node_tables(),  # which exports hold against their record
            "state": self.config.jobs.report_state,
            "pairs.parquet": self.config.jobs.report_pairs,
            "scan.npz": plan and plan["scan"],
            "null.npz": plan and plan.get("null", True),  # an older plan does not say: it has
        }
        return self.paths([name] if there[name] else [])

    def chunks(self, stage: str, plan: Plan) -> list[str]:
        """Every chunk file of a stage (``scan`` or ``chunks``)."""
        return self.paths(f"{stage}/{chunk_name(chunk)}.parquet" for chunk in plan["chunks"])

    def bootstraps(self, plan: Plan) -> list[str]:
        """Edges of bootstrap networks, a file for each job."""
        jobs = plan["bootstraps"]
        return self.paths(f"bootstraps/{j['first']:05d}-{j['last']:05d}.parquet" for j in jobs)

    def records(self, plan: Plan) -> list[str]:
        """Records of the steps that the analysis has, in their order."""
        steps = {
            "prepare": True,
            "network_data": self.optional("network_data.npz"),
            "plan": True,
            "null": self.optional("null.npz", plan),
            "merge_scan": plan["scan"],
            "merge": True,
            "network": True,
            "evaluate": self.optional("evaluation.json"),
            "tables": self.tables(),
            "values": self.stages(),
            **{stage.name: stage.tables for stage in stages_of(self.config)},
        }
        return self.paths(f"steps/{step}.json" for step, there in steps.items() if there)

    def records_of_scores(self, plan: Plan) -> list[str]:
        """Those of the steps up to the merge."""
        records = self.records(plan)
        return records[: records.index(f"{self.folder}/steps/network.json")]

    def after_merge(self, steps: Iterable[str]) -> tuple[list[str], list[str]]:
        """Files and folders that some steps write, the network first, beside its table and
        record."""
        names = ["scores.npz", *(f"steps/{name}.json" for name in steps if name != "network")]
        files = [
            *self.paths(names),
            *self.tables(),
            *self.optional("evaluation.json"),
            *self.stages(),
        ]
        return files, self.paths(["values"] if "values" in steps else [])

    def paths(self, names: Iterable[str]) -> list[str]:
        """Files of these names."""
        return [f"{self.folder}/{name}" for name in names]
