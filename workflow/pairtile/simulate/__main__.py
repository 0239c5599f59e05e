"""``python -m pairtile.simulate``."""

from pairtile.simulate.command import main

main()
