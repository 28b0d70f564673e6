"""Groups of commands that are imported when they are called."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from typer.core import TyperGroup

from djinn_memory.cli import tree
from djinn_memory.cli.text.help import write_help


class LazyCommands(Mapping[str, Any]):
    """The commands below a noun, or at the top level for an empty noun, by name.

    A command is imported on first access.
    """

    def __init__(self, noun: str) -> None:
        self._noun = noun
        self.lines = tree.below(noun)
        """The names of its commands, with their lines in lists."""
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._loaded:
            self._loaded[name] = self._load(name)
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.lines)

    def __len__(self) -> int:
        return len(self.lines)

    def _load(self, name: str) -> Any:
        line = self.lines[name]
        if not self._noun and name in tree.NOUNS:
            return CommandGroup(noun=name, name=name, help=line, no_args_is_help=True)
        words = tree.canonical(f"{self._noun} {name}".strip())
        return tree.load(words).build(words)


class CommandGroup(TyperGroup):
    """A group whose list comes from the tree; `noun` is empty for the top."""

    def __init__(self, *, noun: str = "", **settings: Any) -> None:
        commands = LazyCommands(noun)
        super().__init__(commands=commands, **settings)  # type: ignore[arg-type]
        self.noun = noun
        self.lines = commands.lines
        """The names of its commands, with their lines in lists."""
        self.sections = tree.sections(noun)
        """The names and lines by section, for the help."""
        self.terms = {} if noun else tree.TERMS
        """The terms that the help explains."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names of the commands. No command is imported."""
        return list(self.lines)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command with a name.

        An unknown name raises an error that suggests similar commands.
        """
        if args[0] not in self.commands and not ctx.resilient_parsing:
            from djinn_memory.cli.suggestions import unknown_command

            raise unknown_command(self.noun, args[0])
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help of the group."""
        write_help(self, ctx, formatter)
