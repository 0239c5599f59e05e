"""Other programs beside pairtile on simulated input: ``make compare-peers``."""
