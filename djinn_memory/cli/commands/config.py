"""djinn config show, get, set, path."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from djinn_memory.cli import options, output
from djinn_memory.cli.output import say

app = typer.Typer(help="The settings in config.yaml.", no_args_is_help=True)

Key = Annotated[str, typer.Argument(help="A dotted key, such as search.limit.")]


@app.command(epilog="Example: `djinn config show`")
def show(ctx: typer.Context, json: options.Json = False) -> None:
    """Show all settings as they hold now, defaults and overrides included."""
    from djinn_memory import config

    data = config.as_data(options.open_djinn(ctx).home.config)
    if json:
        output.as_json("djinn.config.show/1", config=data, problems=[])
        return
    import yaml

    say(yaml.safe_dump(data, sort_keys=False, allow_unicode=True).rstrip())


@app.command(epilog="Example: `djinn config get search.limit`")
def get(ctx: typer.Context, key: Key, json: options.Json = False) -> None:
    """Show one setting, or one section."""
    from djinn_memory import config

    value = config.value_at(options.open_djinn(ctx).home.config, key)
    if json:
        output.as_json("djinn.config.get/1", key=key, value=value, problems=[])
    else:
        say(_text(value))


@app.command(name="set", epilog="Example: `djinn config set search.limit 20`")
def set_value(
    ctx: typer.Context,
    key: Key,
    value: Annotated[str, typer.Argument(help="As in YAML: 20, true, [a, b].")],
    json: options.Json = False,
) -> None:
    """Change one setting; comments and order in config.yaml stay."""
    from djinn_memory import config

    home = options.open_djinn(ctx).home
    home.edit((tuple(key.split(".")), config.parse_value(value)))
    now = config.value_at(home.config, key)
    if json:
        output.as_json("djinn.config.set/1", key=key, value=now, problems=[])
    else:
        say(f"{key}: {_text(now)}")


@app.command(epilog="Example: `djinn config path`")
def path(ctx: typer.Context, json: options.Json = False) -> None:
    """Show where the settings are."""
    place = options.open_djinn(ctx).home.config_path
    if json:
        output.as_json("djinn.config.path/1", path=place, problems=[])
    else:
        say(output.clean(str(place)))


def _text(value: Any) -> str:
    from djinn_memory.yamltext import scalar

    return output.clean(value if isinstance(value, str) else scalar(value))
