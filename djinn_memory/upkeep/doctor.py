"""Checks an installation and applies safe fixes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping

from msgspec.structs import replace

from djinn_memory.embedding.registry import ModelRegistry
from djinn_memory.errors import ConfigError, DjinnError
from djinn_memory.home.home import Home
from djinn_memory.models import Progress, ProgressCallback
from djinn_memory.store.state import State
from djinn_memory.upkeep import databases, models, place, vaults
from djinn_memory.upkeep.findings import Check, CheckedHome, error, failure, hint
from djinn_memory.upkeep.requests import Diagnosis, DoctorFinding

Checks = Callable[[CheckedHome], Iterator[Check]]

CHECKS: dict[str, Checks] = {
    "home": place.home,
    "config": place.settings,
    "state": place.state,
    "disk": place.disk,
    "vaults": vaults.vaults,
    "profiles": vaults.profiles,
    "ledger": databases.events,
    "vectors": databases.cache,
    "working": databases.working,
    "index": databases.index,
    "server": databases.server,
    "domains": vaults.domains,
    "models": models.cache,
    "embedder": models.embedder,
    "reranker": models.reranker,
    "chat model": models.chat_model,
    "hooks": place.hooks,
    "sessions": place.sessions,
    "leftovers": place.leftovers,
    "backup": place.backups,
}
"""The checks by part. Parts that others depend on come first."""

AGAIN_SECONDS = 0.5
"""Seconds before an error is checked again: the time needed to create a database."""


def examine(home: Home, *, fix: bool, progress: ProgressCallback) -> Diagnosis:
    """Examine a home. With `fix`, apply the safe fixes; notes are never changed.

    Every problem of the home becomes a finding. Nothing is raised. Without `fix` no file is
    created.
    """
    state = State(home, [])
    case = CheckedHome(home, state, ModelRegistry(home, progress), progress)
    findings: list[DoctorFinding] = []
    try:
        for number, (part, checks) in enumerate(_possible(home, findings).items()):
            progress(Progress("check", number, len(CHECKS), part))
            results = _results(part, checks, case)
            if fix and any(check.mend for check in results):
                mended, failed = _mend(results)
                findings += mended
                again = _results(part, checks, case)
                results = [check for check in again if check.finding.what not in failed]
            findings += [check.finding for check in results]
    finally:
        state.close()
    progress(Progress("prepare", 1, 1, "all checks ran"))
    return Diagnosis(home.root, tuple(findings))


def _possible(home: Home, findings: list[DoctorFinding]) -> Mapping[str, Checks]:
    """The checks that are possible with these settings. Invalid settings become a finding."""
    try:
        _ = home.config, home.vaults, home.state
    except ConfigError as wrong:
        findings.append(failure("config", wrong).finding)
        rest = ", ".join(part for part in CHECKS if part not in ("home", "config"))
        what = f"not checked, because the settings do not say where it is: {rest}"
        findings.append(hint("config", what, "correct the settings first").finding)
        return {"home": place.home}
    return CHECKS


def _results(part: str, checks: Checks, case: CheckedHome) -> list[Check]:
    """The results of the checks of a part. An error is reported only if it persists a moment later.

    Another process may be working on the part.
    """
    results = _tried(part, checks, case)
    if any(check.finding.severity == "error" for check in results):
        time.sleep(AGAIN_SECONDS)
        results = _tried(part, checks, case)
    return results


def _tried(part: str, checks: Checks, case: CheckedHome) -> list[Check]:
    try:
        return list(checks(case))
    except DjinnError as wrong:
        return [failure(part, wrong)]
    except Exception as wrong:
        # A check-up is for when something is broken: one check that fails must not end it.
        text = " ".join(f"{type(wrong).__name__}: {wrong}".split())
        return [error(part, f"the check failed ({text})", "report this")]


def _mend(results: list[Check]) -> tuple[list[DoctorFinding], set[str]]:
    """Apply the fixes of findings.

    Returns the findings, each with the result of its fix, and the texts of findings that could not
    be fixed.
    """
    findings = []
    failed = set()
    for check in results:
        finding = check.finding
        if check.mend is None:
            continue
        try:
            findings.append(replace(finding, fixed=check.mend()))
        except (DjinnError, OSError) as wrong:
            failed.add(finding.what)
            what = f"{finding.what}; the fix failed: {wrong}"
            findings.append(replace(finding, what=what, fixable=False))
    return findings, failed
