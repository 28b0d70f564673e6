"""The index run that mends what is wrong with index or cache."""

from __future__ import annotations

from djinn_memory.embedding.registry import ModelRegistry
from djinn_memory.indexing.refresh import index
from djinn_memory.models import ProgressCallback
from djinn_memory.store.state import State
from djinn_memory.system.plural import count


def reindex(state: State, models: ModelRegistry, progress: ProgressCallback) -> str:
    """Set a damaged index or cache aside, then index all vaults; says what was done."""
    before = len(state.problems)
    state.set_aside_damaged()
    new_problems = state.problems[before:]
    aside = [f"{problem.what.rpartition('/')[2]} {problem.why}" for problem in new_problems]
    vaults = state.home.vaults
    report = index(state, models, vaults, whole=True, rebuild=False, progress=progress)
    vectors = f"{count(report.embedded, 'text')} embedded, {report.reused:,} from the cache"
    return "; ".join([*aside, f"indexed {count(report.notes, 'note')}: {vectors}"])
