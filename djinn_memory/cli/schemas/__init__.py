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
        fact,
        gap,
        home,
        maintain,
        memory,
        recall,
        remember,
        score,
        session,
        summary,
        vault,
        watch,
        working,
    )

    return {
        "init": (home.Init,),
        "index": (home.Index, home.IndexBackground),
        "doctor": (doctor.Doctor,),
        "status": (home.Status,),
        "watch": (watch.WatchNotice, watch.WatchInstall),
        "trust": (home.Trust,),
        "remember": (remember.Remember,),
        "wake": (session.Wake,),
        "checkpoint": (session.Checkpoint,),
        "sleep": (session.Sleep,),
        "recall": (recall.Recall,),
        "rate": (recall.Rate,),
        "gap list": (gap.GapList,),
        "gap report": (gap.GapReport,),
        "gap close": (gap.GapClose,),
        "gap suggest": (gap.GapSuggest,),
        "score show": (score.ScoreShow,),
        "memory search": (memory.Search,),
        "memory list": (memory.MemoryList,),
        "memory show": (memory.MemoryShow,),
        "memory delete": (memory.MemoryDelete,),
        "memory purge": (memory.MemoryPurge,),
        "memory stats": (memory.MemoryStats,),
        "fact set": (fact.FactSet,),
        "fact get": (fact.FactGet,),
        "fact list": (fact.FactList,),
        "fact search": (fact.FactSearch,),
        "fact forget": (fact.FactForget,),
        "fact verify": (fact.FactSet,),
        "summary show": (summary.SummaryShow,),
        "summary set": (summary.SummarySet,),
        "summary build": (summary.SummarySet,),
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
        "working set": (working.WorkingSet, working.WorkingStep),
        "working get": (working.WorkingGet, working.WorkingTask),
        "working list": (working.WorkingList, working.WorkingTasks),
        "working clear": (working.WorkingClear,),
        "working share": (working.WorkingShare,),
        "maintain": (maintain.Maintain,),
        "config show": (config.ConfigShow,),
        "config get": (config.ConfigGet,),
        "config set": (config.ConfigSet,),
        "config path": (config.ConfigPath,),
    }
