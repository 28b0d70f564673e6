"""Patterns: what consolidation learns from episodes, and the outcomes of actions."""
