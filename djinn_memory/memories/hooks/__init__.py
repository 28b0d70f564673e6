"""Hooks of agent programs: their inputs become episodes."""
