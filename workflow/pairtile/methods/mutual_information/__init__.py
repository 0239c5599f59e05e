"""B-spline mutual information of gene pairs: networks with significance, DPI and CLR."""

from pairtile.method import Method

METHOD = Method(
    name="mutual_information",
    package=__name__,
    config="config:MutualInformationConfig",
    estimator="score:MutualInformation",
    report="report:REPORT",
    trial="trial:write_trial",
)
