"""A Slurm of one's own for the tests: this machine as its only node, with numbered pretend GPUs.

Needs the programs of Debian's packages slurm-wlm and munge, and root, for Slurm to start jobs as
another process group without systemd. Nothing outside the folder given is read or written.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import time
from pathlib import Path

PROGRAMS = ("slurmctld", "slurmd", "munged", "mungekey", "sbatch", "srun", "squeue", "scontrol")
PARTITION = "main"
CPUS = 4
MEMORY_MB = 64_000
GPUS = 2

SLURM_CONF = """\
ClusterName=pretend
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CryptoType=crypto/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
SlurmctldPort={controller_port}
SlurmdPort={node_port}
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
ReturnToService=2
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=2,sched_interval=2,sched_min_interval=100000
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
MinJobAge=3600
KillWait=2
GresTypes=gpu
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} Boards=1 SocketsPerBoard=1 \
CoresPerSocket={cpus} ThreadsPerCore=1 RealMemory={memory} Gres=gpu:pretend:{gpus} State=UNKNOWN
PartitionName={partition} Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def why_not() -> str:
    """Why there can be no Slurm here, in words; empty where there can."""
    missing = [name for name in PROGRAMS if shutil.which(name, path=_path()) is None]
    if missing:
        return f"found no {', '.join(missing)} (Debian: apt-get install slurm-wlm munge)"
    if os.geteuid() != 0:
        return "Slurm without systemd wants root"
    return ""


def _path() -> str:
    return os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


class SlurmCluster:
    """slurmctld, slurmd and munged on this machine, until ``stop``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.host = socket.gethostname().split(".")[0]
        self._daemons: list[subprocess.Popen[bytes]] = []
        for part in ("state", "spool", "bin"):
            (folder / part).mkdir()
        # Snakemake's plugin keeps SLURM_CONF from the srun that it calls within a job.
        srun = folder / "bin" / "srun"
        given = f"SLURM_CONF={folder}/slurm.conf exec {shutil.which('srun', path=_path())}"
        srun.write_text(f'#!/bin/sh\n{given} "$@"\n')
        srun.chmod(0o755)
        gpus = []
        for number in range(GPUS):
            device = folder / f"gpu{number}"
            os.mknod(device, 0o020666, os.makedev(1, 3))  # as /dev/null
            gpus.append(f"NodeName={self.host} Name=gpu Type=pretend File={device}\n")
        (folder / "gres.conf").write_text("AutoDetect=off\n" + "".join(gpus))
        (folder / "slurm.conf").write_text(
            SLURM_CONF.format(
                folder=folder,
                host=self.host,
                controller_port=_free_port(),
                node_port=_free_port(),
                cpus=CPUS,
                memory=MEMORY_MB,
                gpus=GPUS,
                partition=PARTITION,
            )
        )

    @property
    def environment(self) -> dict[str, str]:
        """For every program of Slurm's, and for Snakemake: which cluster is meant."""
        path = os.pathsep.join([str(self.folder / "bin"), _path()])
        return {"PATH": path, "SLURM_CONF": str(self.folder / "slurm.conf")}

    def start(self) -> None:
        """Start the daemons and wait until the node takes jobs."""
        key = self.folder / "munge.key"
        self._do("mungekey", "--create", f"--keyfile={key}")
        files = [f"--{name}={self.folder}/munge.{name}" for name in ("socket",)]
        files += [f"--{name}-file={self.folder}/munge.{name}" for name in ("log", "pid", "seed")]
        self._daemon("munged", "--foreground", "--force", f"--key-file={key}", *files)
        self._wait(lambda: (self.folder / "munge.socket").exists(), "munged")
        self._daemon("slurmctld", "-D", "-i")
        self._daemon("slurmd", "-D", "-N", self.host)
        self._wait(lambda: self.node_state().startswith("idle"), "a node that is idle")

    def stop(self) -> None:
        """Cancel all jobs and end the daemons."""
        self._do("scancel", "--user=root", check=False)
        deadline = time.monotonic() + 15
        while self.jobs() and time.monotonic() < deadline:
            time.sleep(0.3)
        for daemon in reversed(self._daemons):
            daemon.terminate()
            try:
                daemon.wait(timeout=10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()

    def node_state(self) -> str:
        """``idle``, ``mixed``, ``allocated``, ``drained``, ..."""
        return self._do("sinfo", "--noheader", "--format=%T", check=False).strip()

    def jobs(self, states: str = "PENDING,RUNNING,COMPLETING") -> list[tuple[str, str, str]]:
        """Number, state and comment of jobs; the comment names rule and wildcards."""
        text = self._do(
            "squeue", "--noheader", f"--states={states}", "--format=%i|%T|%k", check=False
        )
        lines = [line.split("|", 2) for line in text.splitlines() if line.count("|") >= 2]
        return [(number, state, comment) for number, state, comment in lines]

    def cancel(self, job: str) -> None:
        """As ``scancel`` does."""
        self._do("scancel", job)

    def requeue(self, job: str) -> None:
        """As Slurm does itself after a node failed: the job ends, and waits to start again.

        Slurm lets it wait for two minutes; here some seconds do. In the second in which it was
        killed, the node refuses it as killed already, and it counts as failed.
        """
        self._do("scontrol", "requeue", job)
        self._wait(lambda: "PENDING" in {s for n, s, _ in self.jobs() if n == job}, "the requeue")
        self._do("scontrol", "update", f"jobid={job}", "starttime=now+3")

    def drain(self) -> None:
        """Let the node finish what it runs and take nothing more."""
        self._do("scontrol", "update", f"nodename={self.host}", "state=drain", "reason=test")

    def resume(self) -> None:
        """Let the node take jobs again."""
        self._do("scontrol", "update", f"nodename={self.host}", "state=resume")

    def known_jobs(self) -> dict[str, dict[str, str]]:
        """All that Slurm knows of all jobs since it began: number -> key -> value."""
        lines = self._do("scontrol", "show", "jobs", "--oneliner").splitlines()
        jobs = [dict(re.findall(r"(\w+)=(\S*)", line)) for line in lines]
        return {job["JobId"]: job for job in jobs if "JobId" in job}

    # --- programs ---------------------------------------------------------------------------------

    def _do(self, *command: str, check: bool = True) -> str:
        done = subprocess.run(
            command, env=os.environ | self.environment, capture_output=True, text=True, timeout=60
        )
        if check and done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}: {done.stderr}")
        return done.stdout

    def _daemon(self, *command: str) -> None:
        with (self.folder / f"{command[0]}.out").open("wb") as out:
            self._daemons.append(
                subprocess.Popen(command, env=os.environ | self.environment, stdout=out, stderr=out)
            )

    def _wait(self, ready: object, what: str) -> None:
        assert callable(ready)
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            if ready():
                return
            time.sleep(0.2)
        output = "\n".join(path.read_text()[-2000:] for path in self.folder.glob("*.out"))
        raise RuntimeError(f"waited 30 s for {what}; the daemons say: {output}")
