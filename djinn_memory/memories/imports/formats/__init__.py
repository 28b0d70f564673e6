"""Readers of exports, one for each format. They are pure: records in, messages out."""
