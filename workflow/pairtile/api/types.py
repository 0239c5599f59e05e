"""Names of the types that library functions take; nothing is imported for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import pandas as pd
    from anndata import AnnData
    from numpy.typing import ArrayLike
    from scipy.sparse import sparray, spmatrix

    from pairtile.io.expression import Expression
    from pairtile.preprocess.expression import Prepared
    from pairtile.simulate import Simulation

ExpressionLike: TypeAlias = (
    "ArrayLike | pd.DataFrame | sparray | spmatrix | AnnData | Expression | Prepared | Simulation"
)
"""Expression in any form that the library takes, as ``as_table`` says."""

AxisLabels: TypeAlias = "pd.Index[str] | pd.Index[int]"
"""Labels of genes or samples: names, or numbers where there are no names."""

SampleLabels = Mapping[str, object]
"""Labels of samples by what they say (``series``, ``time``, ``batch``); None: nothing is said."""
