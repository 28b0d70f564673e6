"""Recall, its rescoring, ratings, scores and gaps."""
