"""djinn lint."""

from __future__ import annotations

from typing import TYPE_CHECKING

from djinn_memory.cli import candidates
from djinn_memory.cli.command import Call, command
from djinn_memory.cli.output import clean, dim, say
from djinn_memory.cli.request_options import Field
from djinn_memory.system.plural import count
from djinn_memory.upkeep.requests import LintOptions

if TYPE_CHECKING:
    from djinn_memory.upkeep.lint import LintReport


@command(
    "lint",
    LintOptions,
    fields={"vaults": Field("NAME", candidates.vaults)},
    progress=True,
    failed=lambda report: any(not issue.fixed for issue in report.issues) or bool(report.problems),
)
def lint(call: Call, answer: LintReport) -> None:
    """Find dead links, names that mean two notes, and front matter with problems.

    It reports links to no note, links that could mean several notes, links to headings and blocks
    that do not exist, titles and ids that two notes share, and front matter that cannot be read.
    With `--fix` it corrects links to headings that differ only in case and punctuation; every other
    issue needs a person. The exit code is 1 while issues are left.

    Examples:
        djinn lint
        djinn lint --vault notes --fix
        djinn lint --json
    """
    for issue in answer.issues:
        line = f":{issue.line}" if issue.line else ""
        say(clean(f"{issue.vault}/{issue.path}{line}: {issue.what} [{issue.code}]"))
        if issue.fixed:
            say(dim(clean(f"    fixed: {issue.fix}")))
        elif issue.fix:
            say(dim(clean(f"    --fix writes {issue.fix}")))
    fixed = sum(issue.fixed for issue in answer.issues)
    left = len(answer.issues) - fixed
    done = f", {fixed:,} fixed" if fixed else ""
    say(f"{count(answer.notes, 'note')}, {count(left, 'issue')}{done}")
