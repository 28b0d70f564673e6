"""Renders the profile of an agent, and cuts it to a token budget."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from djinn_memory.chunking.tokens import token_counts
from djinn_memory.memories.catalog.excerpts import TokenBudget
from djinn_memory.memories.profiles.requests import AgentProfile

SHARE = 1 / 4
"""The maximum share of a budget for the keys of a profile, and again for its text."""


def profile_lines(profile: AgentProfile) -> Iterator[str]:
    """What the keys of a profile say, as lines of Markdown for the agent."""
    if profile.identity:
        yield profile.identity
    if profile.instruction:
        yield f"Voice: {profile.instruction}"
    if profile.working_now:
        zone = f" ({profile.time_zone})" if profile.time_zone else ""
        hours = "; ".join(profile.working_hours)
        yield f"Working hours: {hours}{zone}. Now: {profile.working_now}."
    if profile.projects:
        yield f"Active projects: {', '.join(profile.projects)}"
    if profile.rules:
        yield "Rules:"
    yield from (f"- {rule}" for rule in profile.rules)


def fit_profile(
    profile: AgentProfile | None, room: TokenBudget, share: float = SHARE
) -> AgentProfile | None:
    """A profile with as much of it as fits in a budget.

    The last rules are left out first, then the projects, the working hours and the identity.
    """
    if profile is None:
        return None
    most = int(room.budget * share)
    while (tokens := _tokens(profile)) > min(most, room.left):
        profile = replace(_less(profile), cut=True)
    room.left -= tokens
    return room.take(profile, share=share)


def _tokens(profile: AgentProfile) -> int:
    text = "\n".join(profile_lines(profile))
    return token_counts([text])[0] if text else 0


def _less(profile: AgentProfile) -> AgentProfile:
    if profile.rules:
        return replace(profile, rules=profile.rules[:-1])
    if profile.projects:
        return replace(profile, projects=profile.projects[:-1])
    if profile.working_now:
        return replace(profile, working_now=None)
    if profile.identity:
        return replace(profile, identity=None)
    return replace(profile, instruction=None)
