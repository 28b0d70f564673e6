"""The fields that restrict a request to some memories, declared once for all requests."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

from msgspec import Meta, Struct

from djinn_memory.errors import UsageError
from djinn_memory.models import PLANES, Filters
from djinn_memory.operations.checks import RawDay, RawName, RawText
from djinn_memory.system.choices import one_of

AgentName = Annotated[
    RawText | None, Meta(description="The agent whose memory is used. Default: the first agent.")
]
WHOLE_HOME = "Show only what this agent may see. Default: the whole home."
OnlyAgent = Annotated[RawText | None, Meta(description=WHOLE_HOME)]
"""The agent of a request about the whole home."""

DryRun = Annotated[bool, Meta(description="Report what would be done, without doing it.")]
DiffOnly = Annotated[bool, Meta(description="Show the changes as a diff, without making them.")]
AllowSecret = Annotated[
    bool, Meta(description="Write it even if it looks like a key or a password.")
]
KeepSecret = Annotated[bool, Meta(description="Keep text that looks like a key or a password.")]
WriteShared = Annotated[bool, Meta(description="Write into the shared vault instead of your own.")]

DomainName = Annotated[
    Annotated[str, Meta(max_length=64)] | None,
    Meta(description="The domain of what is written, such as work. Default: none."),
]

SinceDay = Annotated[
    RawDay | None, Meta(description="From this day on: 2026-03-01, 2026-03, 30d, yesterday.")
]
UntilDay = Annotated[RawDay | None, Meta(description="Up to and including this day.")]

ValidFrom = Annotated[
    Annotated[RawText, Meta(max_length=500)] | None,
    Meta(
        description="When the value began to hold: 2026-05-01, 2026-05, a time, or 30d for 30 "
        "days ago. Default: now. A value that began before the current one goes into the "
        "history."
    ),
]
"""The start of the period in which a value of a fact or an entity holds."""

ValidTo = Annotated[
    Annotated[RawText, Meta(max_length=500)] | None,
    Meta(description="The last day on which the value holds. Default: until the next value."),
]
"""The end of that period."""

AsOf = Annotated[
    RawDay | None,
    Meta(
        description="What held at the end of this day, or at this time: 2026-03-01, 2026-03, 30d. "
        "A memory without a period held from its creation on."
    ),
]

_Names = Annotated[Sequence[Annotated[RawText, Meta(max_length=200)]], Meta(max_length=20)]
DomainNames = Annotated[
    _Names, Meta(description="Only memories of one of these domains, such as work.")
]
_Types = Annotated[Sequence[RawName], Meta(max_length=20)]
_Vaults = Annotated[Sequence[Annotated[RawText, Meta(max_length=64)]], Meta(max_length=20)]


class Narrowing(Struct, frozen=True, kw_only=True):
    """Restricts which memories a request covers. A field that is left out does not restrict."""

    agent: AgentName = None
    vaults: Annotated[
        _Vaults,
        Meta(description="Only these vaults, such as `shared`. Default: all that the agent sees."),
    ] = ()
    types: Annotated[
        _Types, Meta(description="Only memories of one of these types, such as `decision`.")
    ] = ()
    tags: Annotated[
        _Names,
        Meta(
            description="Only memories with all of these tags, or with tags below them, such as "
            "project/x for project."
        ),
    ] = ()
    planes: Annotated[
        _Names, Meta(description=f"Only memories of one of these planes: {', '.join(PLANES)}.")
    ] = ()
    domains: DomainNames = ()
    paths: Annotated[
        _Names, Meta(description="Only memories whose path contains one of these texts.")
    ] = ()
    since: SinceDay = None
    until: UntilDay = None
    as_of: AsOf = None
    where: Annotated[
        Sequence[Annotated[RawText, Meta(max_length=1000)]],
        Meta(
            max_length=20,
            description="Only memories whose front matter has these values, such as status=active, "
            "or does not have them: status!=done.",
        ),
    ] = ()

    def filters(self, now: datetime) -> Filters:
        """The fields as filters. `30d` and `yesterday` are relative to `now`."""
        from djinn_memory.notes.periods import end_of_day

        for plane in self.planes:
            if plane not in PLANES:
                why = f"{plane}: unknown plane; {one_of(PLANES, plane)}"
                raise UsageError(why, argument="planes")
        pairs = [_pair(text) for text in self.where]
        return Filters(
            vaults=tuple(self.vaults),
            types=tuple(self.types),
            tags=tuple(self.tags),
            planes=tuple(self.planes),
            domains=tuple(self.domains),
            paths=tuple(self.paths),
            since=day("since", self.since, now),
            until=day("until", self.until, now),
            as_of=self.as_of and end_of_day("as_of", self.as_of, now),
            where=tuple(pair for pair in pairs if not pair[0].endswith("!")),
            excluded=tuple((key[:-1].rstrip(), value) for key, value in pairs if key.endswith("!")),
        )


def day(field: str, text: str | None, now: datetime) -> str | None:
    """The past day that the text of a field means; `UsageError` for another text."""
    if text is None:
        return None
    from djinn_memory.notes.dates import spoken_date

    meant = spoken_date(text, now.astimezone())
    if meant is None:
        why = f"{text}: not a date; write 2026-03-01, 2026-03, 30d or yesterday"
        raise UsageError(why, argument=field)
    return meant


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key.rstrip("! "):
        why = f"{text}: write it as KEY=VALUE, such as status=active"
        raise UsageError(why, argument="where")
    return key.strip(), value.strip()
