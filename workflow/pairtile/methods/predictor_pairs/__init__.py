"""Sets of genes that predict a gene, by mean conditional entropy."""

from pairtile.method import Method

METHOD = Method(
    name="predictor_pairs",
    package=__name__,
    config="config:PredictorPairsConfig",
    estimator="score:estimator_of",
    report="report:REPORT",
    trial="trial:write_trial",
)
