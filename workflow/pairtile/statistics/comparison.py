"""How alike two networks of the same items are."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd
import scipy

from pairtile.statistics.evaluation import require_columns


@dataclass(frozen=True)
class Comparison:
    """Pairs of items that are joined, in both networks and in each alone.

    ``jaccard``: shared pairs of all pairs. ``rank_correlation``: Spearman's of the scores' sizes
    over shared pairs; NaN for fewer than three, or equal scores. ``p_overlap``: the chance of as
    many shared pairs or more if both had drawn theirs at random from all pairs of shared items.
    ``sign_changes``: shared pairs whose scores have opposite signs. ``shared_hubs``: of the ten
    items with most neighbours in each, those in both.
    """

    items_first: int
    items_second: int
    items_shared: int
    pairs_first: int
    pairs_second: int
    pairs_shared: int
    jaccard: float
    p_overlap: float
    rank_correlation: float
    sign_changes: int
    hubs_first: list[str]
    hubs_second: list[str]
    shared_hubs: list[str]

    def as_dict(self) -> dict[str, object]:
        """For JSON: NaN becomes None."""
        return {
            key: None if isinstance(value, float) and np.isnan(value) else value
            for key, value in asdict(self).items()
        }


def compare_networks(first: pd.DataFrame, second: pd.DataFrame) -> Comparison:
    """Compare two networks: columns source, target and score, any order and direction.

    Directions are left aside, and of several edges of a pair the strongest counts.

    Raises
    ------
    ValueError
        If one of these columns is not there.

    Examples
    --------
    >>> first = pd.DataFrame({"source": list("aab"), "target": list("bcc"), "score": [3, 2, 1]})
    >>> second = pd.DataFrame({"source": list("bc"), "target": list("ad"), "score": [3, 2]})
    >>> found = compare_networks(first, second)
    >>> found.pairs_shared, found.jaccard
    (1, 0.25)
    """
    for what, table in (("first network", first), ("second network", second)):
        require_columns(table, ("source", "target", "score"), what)
    one, two = _pairs(first), _pairs(second)
    shared = one.add_suffix("_first").join(two.add_suffix("_second"), how="inner")
    items = [
        set(part.index.get_level_values(0)) | set(part.index.get_level_values(1))
        for part in (one, two)
    ]
    both = items[0] & items[1]
    hubs = [_hubs(part) for part in (one, two)]
    union = len(one) + len(two) - len(shared)
    a, b = shared["score_first"].to_numpy(), shared["score_second"].to_numpy()
    sizes = np.abs(a), np.abs(b)
    ranked = a.size >= 3 and all(np.ptp(size) > 0 for size in sizes)
    # Of the pairs of items that both networks have, the hypergeometric upper tail.
    ends = [[part.index.get_level_values(k).isin(both) for k in (0, 1)] for part in (one, two)]
    among = [part[first & second] for part, (first, second) in zip((one, two), ends, strict=True)]
    drawn = len(both) * (len(both) - 1) // 2, len(among[0]), len(among[1])
    n_shared = len(among[0].index.intersection(among[1].index))
    p_overlap = scipy.stats.hypergeom.sf(n_shared - 1, *drawn) if drawn[0] else np.nan
    return Comparison(
        items_first=len(items[0]),
        items_second=len(items[1]),
        items_shared=len(both),
        pairs_first=len(one),
        pairs_second=len(two),
        pairs_shared=len(shared),
        jaccard=len(shared) / union if union else float("nan"),
        p_overlap=float(p_overlap),
        rank_correlation=float(scipy.stats.spearmanr(*sizes).statistic if ranked else np.nan),
        sign_changes=int((a * b < 0).sum()),
        hubs_first=hubs[0],
        hubs_second=hubs[1],
        shared_hubs=[hub for hub in hubs[0] if hub in hubs[1]],
    )


def _pairs(network: pd.DataFrame) -> pd.DataFrame:
    """The strongest edge of each pair, by its two names in order."""
    ends = network[["source", "target"]].astype(str).to_numpy()
    ends = np.sort(ends, axis=1)
    table = pd.DataFrame({"a": ends[:, 0], "b": ends[:, 1], "score": network["score"].to_numpy()})
    table = table.iloc[np.argsort(-np.abs(table["score"].to_numpy()), kind="stable")]
    return table.drop_duplicates(["a", "b"]).set_index(["a", "b"])


def _hubs(pairs: pd.DataFrame, number: int = 10) -> list[str]:
    ends = np.concatenate([pairs.index.get_level_values(k).to_numpy(dtype=object) for k in (0, 1)])
    degree = pd.Series(ends, dtype=object).value_counts()
    order = np.lexsort((degree.index.astype(str), -degree.to_numpy()))
    return [str(name) for name in degree.index[order[:number]]]
