"""The options that mean the same everywhere, and how a command gets at the home."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from djinn_memory.cli import candidates
from djinn_memory.cli.output import clean, progress_line, talk
from djinn_memory.models import PLANES

if TYPE_CHECKING:
    from djinn_memory.djinn import Djinn
    from djinn_memory.models import Filters, Progress, ProgressCallback


Agent = Annotated[
    str | None,
    typer.Option(
        "--agent", help="Whose memory; the first agent of the config if not given.",
        autocompletion=candidates.agents, metavar="NAME",
    ),
]  # fmt: skip
Vaults = Annotated[
    list[str] | None,
    typer.Option(
        "--vault", help="Only this vault; give it again for more.", metavar="NAME",
        autocompletion=candidates.vaults,
    ),
]  # fmt: skip
Types = Annotated[
    list[str] | None,
    typer.Option("--type", help="Only memories of this type, such as decision; repeatable.",
                 autocompletion=candidates.types, metavar="TYPE"),
]  # fmt: skip
Tags = Annotated[
    list[str] | None,
    typer.Option("--tag", help="Only memories with this tag or one below it; repeatable.",
                 autocompletion=candidates.tags, metavar="TAG"),
]  # fmt: skip
Planes = Annotated[
    list[str] | None,
    typer.Option("--plane", help=f"Only this plane: {', '.join(PLANES)}; repeatable.",
                 autocompletion=candidates.planes, metavar="PLANE"),
]  # fmt: skip
Since = Annotated[
    str | None,
    typer.Option(
        "--since", help="From this day on: 2026-03-01, 2026-03, 30d, yesterday.", metavar="DATE"
    ),
]
Until = Annotated[
    str | None, typer.Option("--until", help="Up to this day, included.", metavar="DATE")
]
Where = Annotated[
    list[str] | None,
    typer.Option("--where", help="Only notes whose front matter says status=active or the like.",
                 metavar="KEY=VALUE"),
]  # fmt: skip
Expired = Annotated[bool, typer.Option("--expired", help="Those that have expired, too.")]
Limit = Annotated[
    int | None, typer.Option("--limit", "-n", min=1, max=1000, help="How many at most.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
AllowSecret = Annotated[
    bool,
    typer.Option("--allow-secret", help="Write what looks like a key or a password, too."),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")]


def interruptible() -> None:
    """From here on Ctrl-C is an exception, so that a long run or a question ends tidily."""
    import signal

    signal.signal(signal.SIGINT, signal.default_int_handler)


def open_djinn(ctx: typer.Context, progress: ProgressCallback | None = None) -> Djinn:
    """The home that `--home`, the environment or the folder names.

    Without a `progress` of the command's own only what takes long by surprise is shown: an index
    that has to be made anew.
    """
    from djinn_memory.djinn import Djinn

    place: Path | None = ctx.obj
    djinn = Djinn.open(place, progress or _surprises(quiet=bool(ctx.params.get("json"))))
    if progress:
        interruptible()
    ctx.call_on_close(djinn.close)
    return djinn


def _surprises(*, quiet: bool) -> ProgressCallback:
    show = progress_line(quiet).__enter__()

    def tell(progress: Progress) -> None:
        # What a model says of itself while a person waits for hits is told with the hits.
        if progress.stage != "prepare" or progress.total:
            show(progress)

    return tell


def text_or_stdin(text: str) -> str:
    """`text`, or for `-` what is on stdin."""
    return text_from_stdin() if text == "-" else text


def text_from_stdin() -> str:
    """The text that is piped into the command; `UsageError` if it is no text, or empty."""
    import sys

    from djinn_memory.errors import UsageError
    from djinn_memory.notes.vault.walk import MAX_BYTES

    interruptible()
    data = sys.stdin.buffer.read(MAX_BYTES + 1)
    try:
        read = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError("stdin is not UTF-8 text; convert it first") from None
    if len(data) > MAX_BYTES:
        raise UsageError(f"stdin has more than {MAX_BYTES:,} bytes; split the text")
    if "\0" in read:
        raise UsageError("stdin is binary, not text")
    if not read.strip():
        raise UsageError("nothing came on stdin; pipe a text into it")
    return read


def confirmed(question: str, yes: bool, *, about: str, doing: str) -> bool:
    """Whether the person at the terminal, told what it is `about`, says yes.

    `UsageError` where nobody can be asked.
    """
    import sys

    from djinn_memory.errors import UsageError

    if not yes and not sys.stdin.isatty():
        raise UsageError(f"nobody is there to be asked; give --yes to {doing} without a question")
    if not yes:
        interruptible()
        talk(clean(about))
    return yes or typer.confirm(question, err=True)


def filters(
    *,
    vaults: list[str] | None = None,
    types: list[str] | None = None,
    tags: list[str] | None = None,
    planes: list[str] | None = None,
    since: str | None = None,
    until: str | None = None,
    where: list[str] | None = None,
) -> Filters:
    """The filter options as one value; `UsageError` names the option that is off."""
    from djinn_memory.errors import UsageError
    from djinn_memory.models import Filters

    for plane in planes or ():
        if plane not in PLANES:
            raise UsageError(f"--plane {plane}: no such plane; allowed: {', '.join(PLANES)}")
    pairs = []
    for text in where or ():
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise UsageError(f"--where {text}: write it as KEY=VALUE, such as status=active")
        pairs.append((key.strip(), value.strip()))
    return Filters(
        vaults=tuple(vaults or ()),
        types=tuple(types or ()),
        tags=tuple(tags or ()),
        planes=tuple(planes or ()),
        since=_date("--since", since),
        until=_date("--until", until),
        where=tuple(pairs),
    )


def narrowing(filters: Filters) -> dict[str, Any]:
    """Filters as the fields of a request."""
    fields = {
        name: getattr(filters, name)
        for name in ("vaults", "types", "tags", "planes", "paths", "since", "until")
    }
    return {**fields, "where": tuple("=".join(pair) for pair in filters.where)}


def _date(option: str, text: str | None) -> str | None:
    if text is None:
        return None
    from datetime import datetime

    from djinn_memory.errors import UsageError
    from djinn_memory.notes.dates import spoken_date

    found = spoken_date(text, datetime.now().astimezone())
    if found is None:
        raise UsageError(f"{option} {text}: no date; write 2026-03-01, 2026-03, 30d or yesterday")
    return found
