"""pairtile: score every pair of a data set, in tiles, on CPU or GPU."""

__version__ = "0.1.0"
