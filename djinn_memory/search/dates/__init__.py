"""Dates in questions: which period is meant, and which memories are from it."""
