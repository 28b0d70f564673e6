"""Briefings: knowledge from memory on one page, for an agent that begins a session or a task."""
