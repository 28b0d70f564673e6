"""Long-term memory for people and their AI agents, kept as plain Markdown.

    from djinn_memory import Djinn

    with Djinn.open("~/memory") as djinn:
        for hit in djinn.search("how do I link to a heading"):
            print(hit.title, hit.path)

`Djinn` has the everyday verbs and, for each noun, a namespace such as `djinn.facts`. The other
names here are the values that it returns and the errors that it raises.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from djinn_memory.djinn import Djinn
    from djinn_memory.errors import (
        Busy,
        Changed,
        ConfigError,
        DjinnError,
        IndexMissing,
        NotFound,
        OutsideVault,
        Refused,
        Remedy,
        Unavailable,
        UsageError,
    )
    from djinn_memory.memories.briefing.requests import WakeContext
    from djinn_memory.memories.facts.queries import Fact
    from djinn_memory.memories.recall.recall import RecalledMemory, RecallResult
    from djinn_memory.memories.writing.remember import RememberResult
    from djinn_memory.models import (
        Hit,
        IndexReport,
        LegScore,
        Memory,
        MemoryRef,
        Problem,
        Progress,
        SearchResult,
        Vault,
    )

_MODULES = {
    "djinn": ("Djinn",),
    "errors": (
        "Busy", "Changed", "ConfigError", "DjinnError", "IndexMissing", "NotFound",
        "OutsideVault", "Refused", "Remedy", "Unavailable", "UsageError",
    ),
    "memories.facts.queries": ("Fact",),
    "memories.recall.recall": ("RecallResult", "RecalledMemory"),
    "memories.briefing.requests": ("WakeContext",),
    "memories.writing.remember": ("RememberResult",),
    "models": (
        "Hit", "IndexReport", "LegScore", "Memory", "MemoryRef", "Problem", "Progress",
        "SearchResult", "Vault",
    ),
}  # fmt: skip
_HOMES = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "Busy",
    "Changed",
    "ConfigError",
    "Djinn",
    "DjinnError",
    "Fact",
    "Hit",
    "IndexMissing",
    "IndexReport",
    "LegScore",
    "Memory",
    "MemoryRef",
    "NotFound",
    "OutsideVault",
    "Problem",
    "Progress",
    "RecallResult",
    "RecalledMemory",
    "Refused",
    "Remedy",
    "RememberResult",
    "SearchResult",
    "Unavailable",
    "UsageError",
    "Vault",
    "WakeContext",
    "__version__",
]


def __getattr__(name: str) -> Any:
    # On first use: a command imports this package too, and needs little of it.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
