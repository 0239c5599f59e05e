"""Correlated motion of atoms or residues in molecular-dynamics trajectories."""

from pairtile.method import Method

METHOD = Method(
    name="trajectory_correlation",
    package=__name__,
    config="config:TrajectoryCorrelationConfig",
    estimator="score:TrajectoryCorrelation",
    report="report:REPORT",
    trial="trial:write_trial",
)
