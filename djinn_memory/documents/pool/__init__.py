"""Runs processes that read files under limits of time and memory."""
