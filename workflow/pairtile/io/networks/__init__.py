"""Networks as the files that people's tools open: one small writer for each format."""

from pairtile.io.networks.formats import export_network

__all__ = ["export_network"]
