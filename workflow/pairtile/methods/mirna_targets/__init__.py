"""Targets of miRNAs, by the alignment of miRanda."""

from pairtile.method import Method

METHOD = Method(
    name="mirna_targets",
    package=__name__,
    config="config:MirnaTargetsConfig",
    estimator="score:MirnaTargets",
    report="report:REPORT",
    trial="trial:write_trial",
)
