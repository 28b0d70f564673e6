"""Merges two entities into one note, and takes merges apart."""
