"""djinn trust."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct, field

from djinn_memory.cli.command import Call, Confirm, command
from djinn_memory.cli.output import clean, say
from djinn_memory.cli.request_options import Field
from djinn_memory.home.trust import Endpoint


class TrustHome(Struct, frozen=True):
    """Options of `djinn trust`."""

    listing: Annotated[
        bool, Meta(description="List trusted servers and models, and those waiting for trust.")
    ] = field(default=False, name="list")
    revoke: Annotated[bool, Meta(description="Revoke all trust of this home.")] = False


class TrustedEndpoints(Struct, frozen=True):
    """The servers and models that the home may use."""

    home: Path
    """The folder of the home."""
    trusted: Sequence[Endpoint]
    """Servers and models that the home may use."""
    waiting: Sequence[Endpoint]
    """Servers and models in the settings that the home may not use."""


def _trust(call: Call) -> TrustedEndpoints:
    home = call.djinn.home
    waiting = list(home.untrusted)
    if call.request.revoke:
        home.distrust()
        waiting = list(home.untrusted)
    elif waiting and not call.request.listing:
        about = "; ".join(map(str, waiting))
        if call.confirmed("Let this home use them?", about):
            home.trust(waiting)
            waiting = []
    return TrustedEndpoints(home.root, home.trusted, waiting)


@command(
    "trust", request=TrustHome, fields={"listing": Field(name="--list")}, view=Confirm, run=_trust
)
def trust(call: Call, answer: TrustedEndpoints) -> None:
    """Let this home use the servers and models in its settings.

    Until then they are ignored, so that a cloned home cannot send your notes to a server. A
    setting that changes later must be trusted again.

    Examples:
        djinn trust
        djinn trust --list
    """
    for endpoint in answer.trusted:
        say(f"trusted  {clean(str(endpoint))}")
    for endpoint in answer.waiting:
        say(f"waiting  {clean(str(endpoint))}")
    if not answer.trusted and not answer.waiting:
        say("Nothing to trust: this home uses no server and no external model.")
