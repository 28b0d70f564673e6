"""Extraction: statements in sessions become facts, preferences, decisions and more."""
