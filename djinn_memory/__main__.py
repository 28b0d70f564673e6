"""`python -m djinn_memory` is `djinn`."""

from djinn_memory.cli.start import main

main()
