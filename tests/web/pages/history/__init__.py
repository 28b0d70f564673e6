"""Tests of `web.pages.history`."""
