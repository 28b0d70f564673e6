"""Runs commands of other processes in one that keeps the home open."""
