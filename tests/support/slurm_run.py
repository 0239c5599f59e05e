"""Snakemake by profiles/slurm on the tests' own Slurm."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from slurm_cluster import SlurmCluster
from workflow_runs import ROOT, environment

FAST = ["--slurm-init-seconds-before-status-checks", "6", "--seconds-between-status-checks", "1"]
FAST += ["--latency-wait", "10", "--cores", "1", "--max-threads", "1"]
"""Settings for a small cluster on two cores: look at the jobs often, let two run at a time."""


class SlurmRun:
    """Snakemake by profiles/slurm in ``folder``, while it runs and afterwards."""

    def __init__(
        self, cluster: SlurmCluster, folder: Path, *arguments: str, path: str = ""
    ) -> None:
        self.cluster, self.folder = cluster, folder
        given = ["--profile", "profiles/slurm", "--configfile", str(folder / "config.yaml")]
        given += ["--directory", str(folder), "--slurm-keep-successful-logs", *FAST, *arguments]
        given += ["--set-resources", "chunk:gpu=1"]
        variables = environment() | cluster.environment
        if path:
            variables["PATH"] = path
        self.output = folder / "snakemake.out"
        with self.output.open("wb") as out:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "snakemake", *given],
                cwd=ROOT,
                env=variables,
                stdout=out,
                stderr=subprocess.STDOUT,
            )

    @property
    def text(self) -> str:
        return self.output.read_text()

    def when(self, what: Callable[[], Any], seconds: float = 120) -> Any:
        """The first true answer of ``what``; fails when the run ends or the time is over."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if found := what():
                return found
            assert self._process.poll() is None, self.text
            time.sleep(0.2)
        raise AssertionError(f"nothing in {seconds} s: {self.text}")

    def running(self, rule: str) -> list[str]:
        """Numbers of the Slurm jobs of a rule that are running now."""
        found = self.cluster.jobs("RUNNING")
        return [number for number, _, comment in found if comment.startswith(f"rule_{rule}")]

    def end(self) -> None:
        """Wait for the end, which must be a good one."""
        assert self._process.wait(timeout=600) == 0, self.text

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def jobs(self, rule: str) -> dict[str, list[str]]:
        """Wildcards -> numbers of the Slurm jobs that a rule took for them, in order."""
        logs = self.folder / ".snakemake/slurm_logs" / f"rule_{rule}"
        found: dict[str, list[str]] = {}
        for path in sorted(logs.rglob("*.log"), key=lambda path: int(path.stem)):
            found.setdefault(path.parent.name, []).append(path.stem)
        return found
