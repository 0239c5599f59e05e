"""pairtile in BEELINE: reads ``ExpressionData.csv``, runs the container, ranks the edges."""

import shutil

import pandas as pd
from BLRun.runner import Runner


class PairtileRunner(Runner):
    """Mutual information of every two genes beside their background (CLR)."""

    def generateInputs(self):
        """Copy the expression table (genes x cells) to where the container sees it."""
        shutil.copyfile(self.input_dir / self.exprData, self.working_dir / "ExpressionData.csv")

    def run(self):
        """Run the container; time and memory into ``time.txt``."""
        inside = "/usr/working_dir"
        self._run_docker(
            f"docker run --rm -v {self.working_dir}:{inside} {self.image} "
            f'/bin/sh -c "time -v -o {inside}/time.txt python runPairtile.py '
            f'{inside}/ExpressionData.csv {inside}/outFile.txt"'
        )

    def parseOutput(self):
        """Write ``rankedEdges.csv``; nothing where the run gave nothing."""
        found = self.working_dir / "outFile.txt"
        if found.exists():
            self._write_ranked_edges(
                pd.read_csv(found, sep="\t", dtype={"Gene1": str, "Gene2": str})
            )
