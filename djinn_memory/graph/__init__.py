"""Algorithms over the graph of links. They are pure: no index, no disk, no clock."""
