"""What `djinn doctor` prints with `--json`."""

from __future__ import annotations

from collections.abc import Sequence

from djinn_memory.models import Problem
from djinn_memory.upkeep.requests import Diagnosis


class Doctor(
    Diagnosis, frozen=True, tag="djinn.doctor/1", tag_field="schema", forbid_unknown_fields=True
):
    """How a home is."""

    problems: Sequence[Problem] = ()
