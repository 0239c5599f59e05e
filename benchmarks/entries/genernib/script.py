"""geneRNIB's entry: a network of regulators and genes by pairtile, as its ``comp_method`` has it.

Reads ``rna`` (h5ad, cells x genes, a layer of normalised values) and ``tf_all`` (regulators, one
a line). Writes ``prediction`` (h5ad) with ``uns``: ``dataset_id``, ``method_id`` and
``prediction``, a table of ``source``, ``target`` and ``weight`` (text), the strongest
``max_n_links`` of them. The sign of a weight is that of the rank correlation.
"""

import argparse
import os

## VIASH START
par = {
    "rna": "resources_test/grn_benchmark/inference_data/op_rna.h5ad",
    "tf_all": "resources_test/grn_benchmark/prior/tf_all.csv",
    "prediction": "output/pairtile.h5ad",
    "layer": "lognorm",
    "max_n_links": 50000,
    "num_workers": 2,
    "seed": 32,
}
meta = {"name": "pairtile"}
## VIASH END

# Without viash, by the same arguments; those of other components are left alone.
parser = argparse.ArgumentParser()
for key, value in par.items():
    parser.add_argument(f"--{key}", type=int if isinstance(value, int) else str)
given, _ = parser.parse_known_args()
par |= {key: value for key, value in vars(given).items() if value is not None}

os.environ["NUMBA_NUM_THREADS"] = str(par["num_workers"])  # before pairtile is imported

import anndata  # noqa: E402
import numpy as np  # noqa: E402
import pairtile  # noqa: E402
import pandas as pd  # noqa: E402
import scipy.sparse  # noqa: E402

cells = anndata.read_h5ad(par["rna"])
layer = par["layer"] if par["layer"] in cells.layers else "X_norm"
values = cells.layers.get(layer, cells.X)
values = values.toarray() if scipy.sparse.issparse(values) else np.asarray(values)
table = pd.DataFrame(values, index=cells.obs_names, columns=cells.var_names)
regulators = np.loadtxt(par["tf_all"], dtype=str, ndmin=1)

network = pairtile.infer_network(
    table,
    [name for name in dict.fromkeys(regulators) if name in table],
    orientation="samples_in_rows",
    score="combined",
    keep={"top_edges": par["max_n_links"]},
    dpi=False,
    seed=par["seed"],
)
network["weight"] = network["combined"] * np.where(network["spearman"] < 0, -1.0, 1.0)
order = network["combined"].sort_values(ascending=False, kind="stable").index
prediction = network.loc[order, ["source", "target", "weight"]].astype(str)

anndata.AnnData(
    uns={
        "dataset_id": cells.uns["dataset_id"],
        "method_id": meta["name"],
        "prediction": prediction.reset_index(drop=True),
    }
).write_h5ad(par["prediction"])
