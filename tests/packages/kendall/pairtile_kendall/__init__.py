"""Kendall's tau of all pairs of genes: a method of pairtile in a package of its own."""

from pairtile.method import Method

PARTS = {"config": "config:TauConfig", "estimator": "score:Kendall", "report": "report:REPORT"}
METHOD = Method("kendall", __name__, **PARTS)
