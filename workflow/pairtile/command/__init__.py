"""The command ``pairtile``: init, check, run, crate, reproduce,
simulate, compare, view. Thin: the work is done elsewhere."""

from pairtile.command.main import main

__all__ = ["main"]
