"""Imports conversations and calendars of other programs as episodes."""
