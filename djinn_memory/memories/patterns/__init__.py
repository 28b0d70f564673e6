"""Patterns that consolidation learns from episodes, and the outcomes of actions."""
