"""Long-term memory for people and their AI agents, kept as plain Markdown."""

__version__ = "0.1.0"
