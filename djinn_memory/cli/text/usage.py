"""Explains errors in a command line and shows the correct form."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import Any, NamedTuple


class UsageMistake(NamedTuple):
    """An error in a command line and its remedy."""

    message: str
    remedy: str


def explain(error: Any) -> UsageMistake:
    """Explain an error of the parser."""
    message = error.format_message().replace("Value error, ", "").rstrip(".")
    ctx = getattr(error, "ctx", None)
    kind = type(error).__name__
    if kind == "BadOptionUsage" and "does not take a value" in message:
        return UsageMistake(f"{error.option_name} takes no value", "leave out = and what follows")
    if kind == "BadOptionUsage":
        return UsageMistake(f"{error.option_name} needs a value", "write the value after it")
    if ctx is None:
        return UsageMistake(message, "")
    help_line = f"see `{ctx.command_path} --help`"
    extra = re.fullmatch(r"Got unexpected extra argument(?:\(s\)|s)? \((.*)\)", message)
    if extra:
        return UsageMistake(f"too many arguments: {extra[1]}", _extra(ctx))
    if kind == "MissingParameter" and error.param.param_type_name == "argument":
        return UsageMistake(
            f"{_name(error.param).rstrip('.')} is missing", f"write `{_usage(ctx)}`"
        )
    if kind == "MissingParameter" and error.param.param_type_name == "option":
        option = max(error.param.opts, key=len)
        metavar = (error.param.metavar or error.param.name).upper()
        return UsageMistake(f"{option} is missing", f"write `{_usage(ctx)} {option} {metavar}`")
    if kind == "NoSuchOption":
        return UsageMistake(f"no option {error.option_name}", _option(error, ctx) or help_line)
    if kind == "BadParameter" and error.param is not None:
        return _value(error, ctx) or UsageMistake(message, help_line)
    return UsageMistake(message, help_line)


def _usage(ctx: Any) -> str:
    """The syntax of the command, without its options."""
    params = [param for param in ctx.command.params if param.param_type_name == "argument"]
    names = [_name(param) if param.required else f"[{_name(param)}]" for param in params]
    return " ".join([ctx.command_path, *names])


def _name(argument: Any) -> str:
    name = (argument.metavar or argument.name).strip("[]{}.").upper()
    return name if argument.nargs == 1 else f"{name}..."


def _has_arguments(ctx: Any) -> bool:
    return any(param.param_type_name == "argument" for param in ctx.command.params)


def _extra(ctx: Any) -> str:
    if not _has_arguments(ctx):
        return f"`{ctx.command_path}` takes only options; see `{ctx.command_path} --help`"
    return f"write `{_usage(ctx)}`, with quotes around a value of several words"


def _option(error: Any, ctx: Any) -> str:
    if ctx.parent is None:
        return "write options after the command, as in `djinn search tide --vault notes`"
    root = ctx.find_root()
    if error.option_name in [name for param in root.command.params for name in param.opts]:
        words = ctx.command_path.removeprefix(root.command_path).strip()
        return f"write it before the command: `{root.command_path} {error.option_name} ... {words}`"
    names = [name for param in ctx.command.params for name in param.opts if name.startswith("-")]
    near = get_close_matches(error.option_name, names, 1, 0.7)
    near = near or [name for name in names if name.startswith(f"{error.option_name}-")]
    if near:
        return f"did you mean {near[0]}?"
    remedy = f"see `{ctx.command_path} --help`"
    if _has_arguments(ctx) and not error.possibilities:
        remedy += ", or write -- before a text that begins with -"
    return remedy


def _value(error: Any, ctx: Any) -> UsageMistake | None:
    """The problem with the value of an option or argument."""
    param, kind = error.param, error.param.type
    name = max(param.opts, key=len) if param.param_type_name == "option" else param.name.upper()
    said = re.match(r"'?(.*?)'? is not ", error.message)
    if said is None:
        return None
    what = f"{name} {said[1]}"
    choices = getattr(kind, "choices", None)
    if choices:
        listed = ", ".join(map(str, choices))
        flags = [flag for other in ctx.command.params for flag in other.opts]
        if f"--{said[1]}" in flags:
            return UsageMistake(what, f"give one of {listed}, or use --{said[1]}")
        return UsageMistake(f"{what}: not a valid choice", f"give one of {listed}")
    least, most = getattr(kind, "min", None), getattr(kind, "max", None)
    if least is None and most is None and "int" not in kind.name and "float" not in kind.name:
        return None
    bounds = "" if least is None else f" from {least:,}"
    bounds += "" if most is None else f" to {most:,}"
    whole = "a whole number" if "int" in kind.name else "a number"
    return UsageMistake(f"{what}: out of range" if re.fullmatch(r"-?[\d.]+", said[1]) else
                        f"{what}: not a number", f"give {whole}{bounds}")  # fmt: skip
