"""Fixtures of the tests of the server and of its pages."""

from __future__ import annotations

from tests.web.limited import served as served
