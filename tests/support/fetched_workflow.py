"""A git repository of this machine in place of the one that the workflow is fetched from."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from pairtile import __version__
from paths import ROOT

ADDRESS = "https://github.com/pairtile/pairtile"
TAG = f"v{__version__}"
PARTS = ("workflow/Snakefile", "workflow/rules", "workflow/report", "workflow/pairtile/__init__.py")
PARTS += ("scripts", "envs", "config", "profiles/default", "LICENSE")


def make_repository(folder: Path) -> dict[str, str]:
    """Make a repository with a tag, which has what a workflow is fetched for; the variables with
    which git fetches from it what stands at the address."""
    for name in PARTS:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, folder / name)
    person = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    for call in (["init", "-q"], ["add", "-A"], [*person, "commit", "-qm", "All"], ["tag", TAG]):
        subprocess.run(["git", *call], cwd=folder, check=True)
    here = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": f"url.{folder}.insteadOf"}
    return here | {"GIT_CONFIG_VALUE_0": ADDRESS}
