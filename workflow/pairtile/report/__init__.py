"""The report page of an analysis and its figures."""
