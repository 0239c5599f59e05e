"""Rankings by trees, as GENIE3 and GRNBoost2 make them; runs without pairtile.

    python trees.py FOLDER NUMBER

reads 0.npz, 1.npz ... (``values``, genes x samples; ``regulators``, rows) and writes 0.out.npz ...:
importance of each regulator (row) for each gene, by the name of the method.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
from sklearn.ensemble import RandomForestRegressor


def forest() -> Any:
    """As GENIE3 (Huynh-Thu et al. 2010), with 100 trees."""
    return RandomForestRegressor(100, max_features="sqrt", random_state=1)


def boosting() -> Any:
    """Stumps and small trees on samples, as GRNBoost2 (Moerman et al. 2019)."""
    return lightgbm.LGBMRegressor(
        n_estimators=200,
        learning_rate=0.02,
        max_depth=3,
        num_leaves=8,
        min_child_samples=5,
        subsample=0.9,
        subsample_freq=1,
        colsample_bytree=0.3,
        importance_type="gain",
        random_state=1,
        n_jobs=1,
        verbose=-1,
    )


def importances(make: Any, values: Any, regulators: Any) -> Any:
    """Of regulators (rows) for genes; targets are scaled to variance 1."""
    found = np.zeros((len(regulators), len(values)))
    for gene, row in enumerate(values):
        others = np.flatnonzero(regulators != gene)
        if row.std() > 0.0:
            fitted = make().fit(values[regulators[others]].T, (row - row.mean()) / row.std())
            found[others, gene] = fitted.feature_importances_
    return found


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for number in range(int(sys.argv[2])):
        table = np.load(Path(sys.argv[1], f"{number}.npz"))
        given = table["values"], table["regulators"]
        found = {"random forests": importances(forest, *given)}
        found["boosting"] = importances(boosting, *given)
        np.savez(Path(sys.argv[1], f"{number}.out.npz"), **found)
