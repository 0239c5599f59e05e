"""Networks as the files that people's tools open: one small writer for each format."""

from pairtile.io.networks.formats import EXPORTERS, Exporter, export_network

__all__ = ["EXPORTERS", "Exporter", "export_network"]
