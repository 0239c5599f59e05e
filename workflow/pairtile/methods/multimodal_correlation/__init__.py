"""Correlation within the modes of gene pairs, found by Gaussian mixtures."""

from pairtile.method import Method

METHOD = Method(
    name="multimodal_correlation",
    package=__name__,
    config="config:MultimodalCorrelationConfig",
    estimator="score:MultimodalCorrelation",
    report="report:REPORT",
    trial="trial:write_trial",
)
