"""The report page of an analysis and its figures."""

from __future__ import annotations

from pairtile.report.page import write_report

__all__ = ["write_report"]
