"""Which worker runs what: whole modules, long ones first, and one worker all that imports torch."""

from __future__ import annotations

from xdist.scheduler import LoadScopeScheduling

TORCH = (
    "tests/embedding/test_cross_encoder.py",
    "tests/embedding/test_local.py::test_two_first_uses",
    "tests/embedding/test_packaged_model.py",
    "tests/embedding/test_sentence_transformers.py",
    "tests/home/test_trust.py::test_a_folder_that_is_typed",
    "tests/search/stages/test_rerank.py",
    "tests/pages/test_commands.py::test_commands_of_a_page",
    "tests/upkeep/test_doctor.py::test_a_damaged_model",
)
"""The import takes five seconds in each worker."""

LONG = (
    *TORCH,
    "tests/cli/test_completion.py",
    "tests/embedding/test_remote.py",
    "tests/mcp/test_transports.py",
    "tests/processes/",
    "tests/upkeep/",
    "tests/watch/",
)
"""Those that would still run when the other workers have nothing left to do."""


class ModuleScheduling(LoadScopeScheduling):
    """Gives a worker a module at a time, in the order in which they were collected."""

    def _split_scope(self, nodeid: str) -> str:
        return "torch" if nodeid.startswith(TORCH) else nodeid.partition("::")[0]
