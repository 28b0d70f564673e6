"""What `djinn maintain` prints with `--json`."""

from __future__ import annotations

from djinn_memory.upkeep.maintain import Maintained


class Maintain(
    Maintained, frozen=True, tag="djinn.maintain/1", tag_field="schema", forbid_unknown_fields=True
):
    """What a run of upkeep did."""
