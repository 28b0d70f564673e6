"""Tests of the algorithms over links."""
