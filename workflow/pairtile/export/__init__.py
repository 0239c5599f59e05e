"""Networks as the files that people's tools open: one small writer for each format."""

from pairtile.export.elements import network_elements
from pairtile.export.formats import EXPORTERS, Exporter, export_network

__all__ = ["EXPORTERS", "Exporter", "export_network", "network_elements"]
