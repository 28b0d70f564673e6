"""What commands print."""

from __future__ import annotations

import re
import sys

import pytest

from djinn_memory.cli import output


def test_a_table_without_rows_at_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    output.columns([], head="date title", empty="No results.")
    assert capsys.readouterr() == ("", "No results.\n")


def test_a_table_has_a_head_at_a_terminal_alone(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [["2026-01-02", "A\nlamp"], ["-", "x"]]
    output.columns(rows, head="date title")
    assert capsys.readouterr().out == "2026-01-02  A lamp\n-           x\n"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    output.columns(rows, head="date title")
    head = re.sub(r"\x1b\[\d+m", "", capsys.readouterr().out.splitlines()[0])
    assert head == "date        title"
