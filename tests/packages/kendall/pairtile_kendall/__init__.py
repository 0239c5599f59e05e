"""Kendall's tau of all pairs of genes: a method of pairtile in a package of its own."""

from pairtile.method import Method

METHOD = Method(
    name="kendall",
    package=__name__,
    config="config:KendallConfig",
    estimator="score:Kendall",
    report="report:REPORT",
)
