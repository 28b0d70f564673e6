"""Extraction: what was stated in sessions becomes facts, preferences, decisions and more."""
