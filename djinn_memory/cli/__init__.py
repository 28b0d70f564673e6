"""The command line."""

INTERRUPTED = 130
"""The exit code after Ctrl-C."""

INTERRUPTION = "interrupted; finished work is kept; run the command again to continue"
