"""The command line."""

INTERRUPTED = 130
"""The exit code after Ctrl-C."""

INTERRUPTION = "interrupted; what was done is kept, run the command again to go on"
