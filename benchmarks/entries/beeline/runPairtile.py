"""BEELINE's entry, in its container: ``python runPairtile.py ExpressionData.csv outFile.txt``.

Reads genes x cells; writes ``Gene1``, ``Gene2`` and ``EdgeWeight``, tab-separated, each pair in
both directions: without a list of regulators an edge has none.
"""

import sys

import pairtile
import pandas as pd

table = pd.read_csv(sys.argv[1], index_col=0)
network = pairtile.infer_network(table, score="clr", keep="all", dpi=False)
edges = network[["source", "target", "clr"]].set_axis(["Gene1", "Gene2", "EdgeWeight"], axis=1)
turned = edges.rename(columns={"Gene1": "Gene2", "Gene2": "Gene1"})
both = pd.concat([edges, turned]).sort_values("EdgeWeight", ascending=False, kind="stable")
both.to_csv(sys.argv[2], sep="\t", index=False)
