"""Handles the text of a note: markup, headings, body."""
