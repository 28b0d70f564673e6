"""djinn config show, get, set, path."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from djinn_memory.cli import candidates, options, output
from djinn_memory.cli.command import plain
from djinn_memory.cli.output import say
from djinn_memory.models import Problem

User = Annotated[bool, typer.Option("--user", help="Your own settings, which hold in every home.")]
Key = Annotated[
    str, typer.Argument(help="A dotted key, such as search.limit.", autocompletion=candidates.keys)
]


@plain("Example: `djinn config show`")
def show(ctx: typer.Context, json: options.Json = False) -> None:
    """Show all settings in effect, defaults included."""
    from djinn_memory.home import config

    djinn = options.open_djinn(ctx)
    if json:
        from djinn_memory.cli.schemas.config import ConfigShow

        output.print_json(ConfigShow(djinn.home.config, djinn.problems))
        return
    import yaml

    data = config.as_data(djinn.home.config)
    say(yaml.safe_dump(data, sort_keys=False, allow_unicode=True).rstrip())
    output.problems(djinn.problems)


@plain("Example: `djinn config get search.limit`")
def get(ctx: typer.Context, key: Key, json: options.Json = False) -> None:
    """Show one setting, or one section."""
    from djinn_memory.home import config

    value = config.value_at(options.open_djinn(ctx).home.config, key)
    if json:
        from djinn_memory.cli.schemas.config import ConfigGet

        output.print_json(ConfigGet(key, value))
    else:
        say(_text(value))


@plain("Example: `djinn config set search.limit 20`")
def set_value(
    ctx: typer.Context,
    key: Key,
    value: Annotated[str, typer.Argument(help="As in YAML: 20, true, [a, b]; null for default.")],
    user: User = False,
    json: options.Json = False,
) -> None:
    """Change one setting; comments and order stay."""
    from djinn_memory.home import config

    change = tuple(key.split(".")), config.parse_value(value)
    problems: list[Problem] = []
    if user:
        changed = config.edit_user(*change)
    else:
        djinn = options.open_djinn(ctx)
        changed = djinn.home.edit(change)
        problems = djinn.problems
    now = config.value_at(changed, key)
    if json:
        from djinn_memory.cli.schemas.config import ConfigSet

        output.print_json(ConfigSet(key, now, problems))
    else:
        say(f"{key}: {_text(now)}")
        output.problems(problems)


@plain("Example: `djinn config path`")
def path(ctx: typer.Context, user: User = False, json: options.Json = False) -> None:
    """Show where the settings are."""
    from djinn_memory.home import config

    place = config.user_path() if user else options.open_djinn(ctx).home.config_path
    if json:
        from djinn_memory.cli.schemas.config import ConfigPath

        output.print_json(ConfigPath(place))
    else:
        say(output.clean(str(place)))


def _text(value: Any) -> str:
    from djinn_memory.system.yaml_edit import scalar

    return output.clean(value if isinstance(value, str) else scalar(value))
