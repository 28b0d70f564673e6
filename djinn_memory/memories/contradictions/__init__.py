"""Contradictions: memories that say different things about the same subject."""
