"""Outcomes: how actions ended, recorded as episodes, and how effective the actions are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Literal, NamedTuple

from msgspec.structs import replace

from djinn_memory.errors import UsageError
from djinn_memory.home.access import DOMAIN
from djinn_memory.memories.episodes.reading import EPISODES, read_episodes
from djinn_memory.memories.episodes.recorder import Turn, record_turns
from djinn_memory.memories.episodes.requests import RecordedEpisode
from djinn_memory.memories.episodes.verbs import time_of_request
from djinn_memory.memories.patterns import requests
from djinn_memory.memories.recall import session_log
from djinn_memory.models import Vault
from djinn_memory.notes.dates import local_day
from djinn_memory.operations.operation import Namespace, operation
from djinn_memory.runtime import Runtime
from djinn_memory.store.busy import WRITE_SECONDS, within
from djinn_memory.store.index.records import Selection

OUTCOMES = replace(EPISODES, types=("outcome",))
"""The filters that select outcomes."""

WORTH = {"success": 1.0, "partial": 0.5, "failure": 0.0}
"""The weight of each result in the effectiveness of an action."""


class Outcome(NamedTuple):
    """An outcome of an action."""

    action: str
    context: str
    result: str
    date: str
    link: str
    domains: tuple[str, ...] = ()


class Outcomes(Namespace, name="outcomes"):
    """The outcomes of actions in a home."""

    @operation(requests.RecordOutcome, writes=True, positional=("action", "result"))
    @within(WRITE_SECONDS)
    def record(self, request: requests.RecordOutcome) -> RecordedEpisode:
        """Record how an action ended, as an episode in the journal of the agent's vault.

        Secrets are masked. Outcomes of the same action are compared without regard to case. Raises
        `UsageError` for an action without a letter or digit.
        """
        if not any(map(str.isalnum, request.action)):
            raise UsageError(
                f"{request.action!r}: write the action in a few words, such as restart the router",
                argument="action",
            )
        agent, now = self.runtime.home.agent(request.agent), self.runtime.now()
        context = {"action": request.action, "outcome": request.result}
        where = f" ({request.context})" if request.context else ""
        if request.context:
            context["where"] = request.context
        turn = Turn(
            "outcome", f"{request.action}{where}: {request.result}", "",
            time_of_request(request.at, now), session_log.current(self._state, agent), "api",
            context, domain=request.domain,
        )  # fmt: skip
        [episode] = record_turns(self.runtime, agent, [turn], command="episode outcome")
        return episode

    @operation(requests.ListOutcomes)
    def list(self, request: requests.ListOutcomes) -> requests.OutcomeList:
        """List how effective actions were: a row for each action, then rows for its contexts."""
        vaults = self.runtime.fresh_scope(request.agent)
        outcomes = read_outcomes(self.runtime, vaults)
        return requests.OutcomeList(_effectiveness(outcomes)[: request.limit], len(outcomes))


def read_outcomes(runtime: Runtime, vaults: tuple[Vault, ...]) -> list[Outcome]:
    """The recorded outcomes in some vaults, oldest first."""
    from djinn_memory.memories.writing.provenance import evidence_link

    with runtime.index(vaults) as index:
        memories = [*index.memories(Selection(OUTCOMES), fields=(DOMAIN,))][::-1]
    outcomes = []
    for episode in read_episodes(runtime, memories):
        data = episode.context or {}
        action, result = data.get("action"), data.get("outcome")
        if isinstance(action, str) and action.strip() and result in WORTH:
            where = data.get("where")
            context = " ".join(where.split()) if isinstance(where, str) else ""
            outcomes.append(
                Outcome(
                    " ".join(action.split()), context, str(result),
                    episode.memory.date, evidence_link(episode.memory),
                    tuple(value for _, value in episode.memory.fields),
                )
            )  # fmt: skip
    return outcomes


def by_name(
    outcomes: Iterable[Outcome], field: Literal["action", "context"]
) -> dict[str, list[Outcome]]:
    """Outcomes by their action or context, whose case does not matter."""
    groups: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        groups.setdefault(getattr(outcome, field).casefold(), []).append(outcome)
    return groups


def _effectiveness(outcomes: list[Outcome]) -> list[requests.Effectiveness]:
    """How effective each action was, the most frequent first, each followed by its contexts."""
    table = []
    for own in sorted(
        by_name(outcomes, "action").values(), key=lambda own: (-len(own), own[0].action.casefold())
    ):
        table.append(_row(own, None))
        contexts = by_name(own, "context")
        if contexts.keys() != {""}:
            named = sorted((key, there) for key, there in contexts.items() if key)
            table += [_row(there, there[0].context) for _, there in named]
    return table


def _row(outcomes: list[Outcome], context: str | None) -> requests.Effectiveness:
    counts = Counter(outcome.result for outcome in outcomes)
    worth = sum(WORTH[outcome.result] for outcome in outcomes)
    return requests.Effectiveness(
        outcomes[0].action, context, counts["success"], counts["partial"], counts["failure"],
        round(worth / len(outcomes), 3), local_day(max(outcome.date for outcome in outcomes)),
    )  # fmt: skip
