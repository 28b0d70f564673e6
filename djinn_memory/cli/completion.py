"""Command completion: the scripts for bash, zsh and fish, and the answers to them.

A script runs `djinn` with `_DJINN_COMPLETE` set to the name of its shell. zsh and fish send the
words before the cursor, including the partial last word; fish leaves it quoted. bash sends the line
up to the cursor and its word-break characters, because it splits words at colons and keeps quotes.

The answer has a line for each candidate: `=value`, for zsh and fish with a tab and a description,
or `/` for directories.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any, NamedTuple

import typer

from djinn_memory.cli.candidates import CompletionLine
from djinn_memory.cli.help import paragraphs
from djinn_memory.cli.output import clean, say, say_verbatim, talk
from djinn_memory.cli.parsing import is_text

VARIABLE = "_DJINN_COMPLETE"
SHELLS = ("bash", "zsh", "fish")
MOST = 500
"""Maximum number of candidates: more are not helpful and slow in the shells."""

DIRECTORIES = "/"
Candidate = tuple[str, str]
"""A word and its description."""


def answer(root: Any) -> int:
    """Print the completion candidates for the line that a shell passes. `root` is the command."""
    if os.environ[VARIABLE] == "bash":
        typed = parse(sys.argv[1], sys.argv[2])
        words, word = typed.words[1:], typed.word
    else:
        typed = None
        words, word = sys.argv[1:-1], sys.argv[-1]
        if os.environ[VARIABLE] == "fish":
            word = parse(word, "").word
    candidates = complete(root, words, word)
    if candidates is None:
        sys.stdout.write(f"{DIRECTORIES}\n")
        return 0
    for value, help_line in matching(candidates, word)[:MOST]:
        tail = f"\t{clean(help_line)}" if help_line else ""
        sys.stdout.write(f"={typed.quoted(value) if typed else value + tail}\n")
    return 0


def matching(candidates: list[Candidate], word: str) -> list[Candidate]:
    """The candidates that begin with `word`, else those that begin with it in another case."""
    printable = [each for each in dict.fromkeys(candidates) if each[0] == clean(each[0])]
    exact = [each for each in printable if each[0].startswith(word)]
    return exact or [each for each in printable if each[0].casefold().startswith(word.casefold())]


def complete(root: Any, words: list[str], word: str) -> list[Candidate] | None:
    """The completions of `word` after `words` under the command `root`; None for directories."""
    command, values, option, only_arguments, arguments = root, {}, None, False, 0
    for previous in words:
        if option is not None:
            values[option.name], option = previous, None
        elif previous == "--" and not only_arguments:
            only_arguments = True
        elif _is_option(previous) and not only_arguments:
            command = _default(command)
            name, equals, value = previous.partition("=")
            named = _options(command).get(name)
            if named is not None and not named.is_flag:
                values[named.name] = value
                option = None if equals else named
        elif hasattr(command, "lines"):
            command = command.get_command(None, previous)
            if command is None:
                return []
        else:
            arguments += 1
    command = _default(command) if word.startswith("-") else command
    line = _line(command, values, word)
    if option is not None:
        return _values(root, option, line)
    if word.startswith("-") and not only_arguments:
        name, equals, value = word.partition("=")
        if not equals:
            return _flags(command)
        option = _options(command).get(name)
        values_of = _values(root, option, line._replace(word=value)) if option is not None else []
        return None if values_of is None else [(f"{name}={text}", help) for text, help in values_of]
    if hasattr(command, "lines"):
        return list(command.lines.items())
    params = [param for param in command.params if param.param_type_name == "argument"]
    if arguments < len(params):
        return _values(root, params[arguments], line)
    return []


def _default(command: Any) -> Any:
    """The command that options after a group belong to."""
    name = getattr(command, "default", None)
    return command.get_command(None, name) if name else command


def _is_option(word: str) -> bool:
    return word.startswith("-") and len(word) > 1 and not is_text(word)


def _line(command: Any, values: dict[str, str], word: str) -> CompletionLine:
    from djinn_memory.search.narrowing import WHOLE_HOME

    home = values.get("home_folder")
    agents = [param for param in command.params if param.name == "agent"]
    return CompletionLine(
        home=Path(home).expanduser() if home else None,
        agent=values.get("agent"),
        scoped="agent" in values or any(param.help != WHOLE_HOME for param in agents),
        word=word,
    )


def _options(command: Any) -> dict[str, Any]:
    options = [param for param in command.params if param.param_type_name == "option"]
    return {name: option for option in options for name in option.opts}


def _flags(command: Any) -> list[Candidate]:
    options = _options(command).items()
    long = [(name, paragraphs(param.help)) for name, param in options if name.startswith("--")]
    flags = [(name, lines[0] if lines else "") for name, lines in long]
    return [*flags, ("--help", "Show this message and exit.")]


def _values(root: Any, param: Any, line: CompletionLine) -> list[Candidate] | None:
    if param.type.name in ("path", "directory", "file"):
        return None
    with root.make_context("djinn", [], resilient_parsing=True) as ctx:
        ctx.obj = line
        return [(value.value, value.help or "") for value in param.shell_complete(ctx, "")]


class TypedLine(NamedTuple):
    """A bash command line up to the cursor."""

    words: list[str]
    """The words before the last, without quotes."""
    word: str
    """The last word, without quotes."""
    prefix_length: int
    """Number of characters of `word` that bash keeps. It replaces the rest."""
    quote: str
    """The open quote, or ""."""

    def quoted(self, value: str) -> str:
        """The text with which bash replaces the word so that it means `value`."""
        tail = value[self.prefix_length :]
        if self.quote == "'":
            return tail.replace("'", "'\\''")
        if self.quote:
            return re.sub(r'([\\"$`])', r"\\\1", tail)
        return re.sub(r"([^\w@%+=:,./-])", r"\\\1", tail)


def parse(line: str, breaks: str) -> TypedLine:
    """Split a line as bash does. `breaks` are readline's word-break characters."""
    words: list[str] = []
    word, begun, prefix_length, quote = "", False, 0, ""
    at = 0
    while at < len(line):
        char, after = line[at], line[at + 1 : at + 2]
        if quote and char == quote:
            quote = ""
        elif char == "\\" and (not quote or (quote == '"' and after and after in '\\"$`')):
            word, begun = word + after, True
            at += 1
        elif quote:
            word += char
        elif char in "'\"":
            quote, begun, prefix_length = char, True, len(word)
        elif char.isspace():
            if begun:
                words.append(word)
            word, begun, prefix_length = "", False, 0
        else:
            word, begun = word + char, True
            if char in breaks:
                prefix_length = len(word)
        at += 1
    while words and re.match(r"\w+=", words[0]):
        words.pop(0)
    return TypedLine(words, word, prefix_length, quote)


def show(wanted: bool) -> None:
    """Print the completion script of the current shell."""
    if wanted:
        say_verbatim(script(_shell()).rstrip())
        raise typer.Exit


def install(wanted: bool) -> None:
    """Install the completion script of the current shell."""
    if not wanted:
        return
    shell = _shell()
    if shell == "fish":
        folder = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
        place = folder / "fish" / "completions" / "djinn.fish"
    else:
        from platformdirs import user_data_path

        place = user_data_path("djinn") / f"completion.{shell}"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(script(shell), encoding="utf-8")
    if shell != "fish":
        folder = Path((os.environ.get("ZDOTDIR") if shell == "zsh" else "") or Path.home())
        _source(folder / f".{shell}rc", place)
    say(f"Installed completion for {shell} in {clean(str(place))}.")
    talk("Next: open a new terminal.")
    raise typer.Exit


def script(shell: str) -> str:
    """The completion script for a shell."""
    place = Path(__file__).parent / "shells" / f"djinn.{shell}"
    return place.read_text(encoding="utf-8")


def _source(settings: Path, place: Path) -> None:
    import shlex

    line = f"source {shlex.quote(str(place))}"
    text = settings.read_text(encoding="utf-8") if settings.is_file() else ""
    if line not in text.splitlines():
        with settings.open("a", encoding="utf-8") as file:
            file.write(f"{'' if not text or text.endswith(chr(10)) else chr(10)}{line}\n")


def _shell() -> str:
    import shellingham

    from djinn_memory.errors import UsageError

    try:
        name: str = shellingham.detect_shell()[0]
    except shellingham.ShellDetectionFailure:
        name = Path(os.environ.get("SHELL", "")).name
    if name not in SHELLS:
        raise UsageError(
            f"completion supports {', '.join(SHELLS)}, not {name or 'an unknown shell'}; "
            "run the command from one of these shells"
        )
    return name
