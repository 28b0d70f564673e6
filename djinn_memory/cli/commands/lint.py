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
    """Find dead links, ambiguous names and invalid front matter.

    It reports links to missing notes, links that match several notes, links to headings and blocks
    that do not exist, titles and ids that two notes share, and front matter that cannot be parsed.
    With `--fix` it corrects links to headings that differ only in case and punctuation. Every other
    issue has to be fixed by hand. The exit code is 1 if issues remain.

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
            say(dim(clean(f"    --fix changes it to {issue.fix}")))
    fixed = sum(issue.fixed for issue in answer.issues)
    left = len(answer.issues) - fixed
    done = f", {fixed:,} fixed" if fixed else ""
    say(f"{count(answer.notes, 'note')}, {count(left, 'issue')}{done}")
