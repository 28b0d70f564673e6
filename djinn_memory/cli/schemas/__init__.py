"""What each command prints with `--json`: the types that are printed, so that a schema made from
them cannot differ from the output. A field's docstring is its description in docs/json.md.

Loaded only by a command that prints JSON.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

Outputs: TypeAlias = dict[str, tuple[type[Struct], ...]]


def outputs() -> Outputs:
    """By command, as a user types it: the objects that it may print."""
    from djinn_memory.cli.schemas import (
        agent,
        config,
        doctor,
        document,
        home,
        memory,
        vault,
        watch,
    )

    return {
        "init": (home.Init,),
        "index": (home.Index, home.IndexBackground),
        "doctor": (doctor.Doctor,),
        "status": (home.Status,),
        "watch": (watch.WatchNotice, watch.WatchInstall),
        "trust": (home.Trust,),
        "memory search": (memory.Search,),
        "memory list": (memory.MemoryList,),
        "memory show": (memory.MemoryShow,),
        "memory delete": (memory.MemoryDelete,),
        "memory stats": (memory.MemoryStats,),
        "ingest": (document.Ingest,),
        "document list": (document.DocumentList,),
        "document show": (document.DocumentShow,),
        "document remove": (document.DocumentRemove,),
        "document reprocess": (document.DocumentReprocess,),
        "vault add": (vault.VaultAdd,),
        "vault list": (vault.VaultList,),
        "vault describe": (vault.VaultDescribe,),
        "vault remove": (vault.VaultRemove,),
        "agent add": (agent.AgentAdd,),
        "agent list": (agent.AgentList,),
        "config show": (config.ConfigShow,),
        "config get": (config.ConfigGet,),
        "config set": (config.ConfigSet,),
        "config path": (config.ConfigPath,),
    }
