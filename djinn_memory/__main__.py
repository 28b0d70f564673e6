"""Runs `python -m djinn_memory` as `djinn`."""

from djinn_memory.cli.start import main

main()
