"""Agents: their profiles."""

from __future__ import annotations

from djinn_memory.memories.agents.requests import (
    ProfileChange,
    ProfileView,
    SetProfile,
    ShowProfile,
    UnsetProfile,
)
from djinn_memory.memories.agents.writer import set_key, unset_key
from djinn_memory.memories.profiles.day import events_of_day
from djinn_memory.memories.profiles.reading import profile_of, zone_of
from djinn_memory.operations.operation import Namespace, operation


class Agents(Namespace, name="agents"):
    """The agents of a home."""

    @operation(ShowProfile, positional=("agent",))
    def profile(self, request: ShowProfile) -> ProfileView:
        """Show the profile of an agent, with what holds now."""
        agent = self.runtime.home.agent(request.agent)
        self._scope(agent)
        profile = profile_of(self.runtime, agent)
        calendar = events_of_day(self.runtime, agent, zone_of(profile))
        return ProfileView(agent, profile, calendar, profile.problems if profile else ())

    @operation(SetProfile, writes=True, positional=("key", "values"))
    def set(self, request: SetProfile) -> ProfileChange:
        """Set a key in the profile of an agent.

        Without a profile, the note `profile.md` is created in the vault of the agent. Raises
        `UsageError` for a value that the key cannot have, and `Refused` for text that looks like a
        secret.
        """
        agent = self.runtime.home.agent(request.agent)
        action, problems = set_key(self.runtime, request)
        return ProfileChange(agent, action, profile_of(self.runtime, agent), tuple(problems))

    @operation(UnsetProfile, writes=True, positional=("key", "values"))
    def unset(self, request: UnsetProfile) -> ProfileChange:
        """Remove a key from the profile of an agent, or some of its values."""
        agent = self.runtime.home.agent(request.agent)
        action, problems = unset_key(self.runtime, request)
        return ProfileChange(agent, action, profile_of(self.runtime, agent), tuple(problems))
