"""The kinds of proposals. A new kind needs a module here and its name in the list."""

from __future__ import annotations

from djinn_memory.memories.proposals.kind import ProposalKind
from djinn_memory.memories.proposals.kinds import archive, contradiction, gap, merge, statement

KINDS: dict[str, ProposalKind] = {
    kind.name: kind
    for kind in (archive.KIND, merge.KIND, gap.KIND, statement.KIND, contradiction.KIND)
}
"""The kinds by name."""
