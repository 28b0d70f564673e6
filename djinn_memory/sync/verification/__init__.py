"""Compares a home with its server: notes, the rows that follow from them, and events."""
