"""What `djinn maintain` prints with `--json`."""

from __future__ import annotations

from djinn_memory.upkeep.requests import MaintenanceReport


class Maintain(
    MaintenanceReport,
    frozen=True,
    tag="djinn.maintain/1",
    tag_field="schema",
    forbid_unknown_fields=True,
):
    """What a run of upkeep did."""
