"""Briefings: one page of memories for an agent that begins a session or a task."""
