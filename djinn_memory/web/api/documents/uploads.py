"""Receives uploaded files, and ingests them."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from http import HTTPStatus
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

from msgspec import Struct
from msgspec.structs import asdict
from starlette.datastructures import QueryParams, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect, Request

from djinn_memory.djinn import Djinn
from djinn_memory.documents.note import clean
from djinn_memory.documents.sources import Source
from djinn_memory.errors import Unavailable, UsageError
from djinn_memory.memories.library.requests import FileOutcome, IngestReport
from djinn_memory.operations import OPERATIONS
from djinn_memory.operations.caller import Caller
from djinn_memory.system.files import make_folder
from djinn_memory.web.api.operations import Runner, allow, converted, request_in, values_in
from djinn_memory.web.api.problems import Denied

MOST_FIELDS, MOST_FIELD = 20, 10_000
"""Maximum number of fields beside a file, and of bytes of each: they are kept in memory."""

_NAMES = {"user_id": "agent", "chunk_strategy": "strategy", "knowledge_base_id": "vault"}


async def ingest_upload(
    runner: Runner, request: Request, folder: Path, kind: type[Struct]
) -> FileOutcome:
    """Ingest the uploaded file of a request whose other fields are those of a struct.

    It is stored in `folder` meanwhile. Raises `Denied` for a file that does not become a document,
    and `DjinnError`.
    """
    caller: Caller = request.scope["caller"]
    verb = OPERATIONS["documents.ingest"]
    allow(caller, verb, {})
    async with _received(request, folder) as (form, source):
        # A form sends fields that were left empty, too.
        filled = {name: value for name, value in values_in(kind, form).items() if value != ""}
        asked = asdict(converted(kind, filled))
        given = {
            _NAMES.get(name, name): value for name, value in asked.items() if value is not None
        }

        def work(djinn: Djinn, caller: Caller) -> IngestReport:
            # A failure that an earlier upload met is not remembered.
            options = request_in(djinn, caller, verb, {**given, "retry": True})
            return djinn.documents.ingest_files(options, [source])

        audited = {key: value for key, value in given.items() if key != "password"}
        report = await runner.do(caller, verb.name, {**audited, "file": source.name}, work)
    [outcome] = report.documents
    if outcome.status != "ingested":
        exists = outcome.status == "skipped"
        status = HTTPStatus.CONFLICT if exists else HTTPStatus.UNPROCESSABLE_ENTITY
        raise Denied(status, f"{source.name}: {outcome.why}", field="file")
    return outcome


def metadata_of(outcome: FileOutcome) -> dict[str, Any]:
    """The metadata of an uploaded file: what it says, and what djinn says about it."""
    known = {key: outcome.metadata.get(key) for key in ("title", "author", "subject")}
    said: Mapping[str, Any] = {**known, "warnings": outcome.warnings}
    return {key: value for key, value in said.items() if value}


@asynccontextmanager
async def _received(request: Request, folder: Path) -> AsyncIterator[tuple[QueryParams, Source]]:
    """The text fields of a request, and its file, which is removed afterwards."""
    if not request.headers.get("content-type", "").startswith("multipart/form-data"):
        why = "send a form with the file, as multipart/form-data"
        raise Denied(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, why)
    make_folder(folder, private=True)
    with TemporaryDirectory(dir=folder) as place:
        path = Path(place, "upload")
        try:
            with path.open("xb") as target:
                form = await _Form(request, target).parse()
        except MultiPartException as error:
            raise UsageError(f"the form cannot be read: {error.message}") from None
        except ClientDisconnect:
            raise Denied(HTTPStatus.BAD_REQUEST, "the upload ended early") from None
        except OSError as error:
            raise Unavailable(f"the upload cannot be stored: {error.strerror or error}") from None
        upload = form.get("file")
        if not isinstance(upload, UploadFile):
            raise UsageError("missing required field file, with the file and its name")
        texts = [(name, text) for name, text in form.multi_items() if isinstance(text, str)]
        # The path is not permanent, so that nothing may refer to it.
        yield QueryParams(texts), Source(path, _name(upload.filename or ""), lasting=False)


class _Form(MultiPartParser):
    """A form with one file, which is written to `target` while it arrives."""

    def __init__(self, request: Request, target: BinaryIO) -> None:
        super().__init__(
            request.headers, request.stream(), max_files=1, max_fields=MOST_FIELDS,
            max_part_size=MOST_FIELD,
        )  # fmt: skip
        self._target = target

    def on_headers_finished(self) -> None:
        super().on_headers_finished()
        if upload := self._current_part.file:
            upload.file.close()
            upload.file = self._target


def _name(given: str) -> str:
    """The name of an uploaded file, without folders and control characters."""
    name = re.split(r"[/\\]", given)[-1]
    # The end of a name has its type.
    return clean(name[:200] + name[200:][-50:]) or "document"
