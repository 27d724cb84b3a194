"""The evidence of a diagnosis as a bundle in a tar.gz, made anew for each that asks and sent in pieces."""

import io
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO

from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from attribution.bundle.walk import README
from attribution.bundle.writer import write_bundle
from attribution.contracts.result import AttributionBlueprintResult
from attribution.dashboard.pages.results import result_of
from attribution.dashboard.views.excerpt import excerpt

_CHUNK_BYTES = 1 << 16
_IN_MEMORY_BYTES = 4 << 20


def archive(request: Request) -> Response:
    """The bundle. Its one folder is named after the attempt's key, so that nothing from a log names a file there."""
    result, key = result_of(request), request.path_params["key"]
    name = f"attribution-{key[:12]}"
    with ExitStack() as opened:
        file = opened.enter_context(tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY_BYTES))
        pack(result, name, file)
        size = file.tell()
        file.seek(0)
        opened.pop_all()
    return StreamingResponse(
        _pieces(file),
        media_type="application/gzip",
        headers={"content-length": str(size), "content-disposition": f'attachment; filename="{name}.tar.gz"'},
        background=BackgroundTask(file.close),
    )


def pack(result: AttributionBlueprintResult, name: str, file: IO[bytes]) -> None:
    """Write the bundle of a result as tar.gz; the same result gives the same members in the same order."""
    found = excerpt(result)
    with tempfile.TemporaryDirectory(prefix="attribution-") as made:
        folder = Path(made) / name
        write_bundle(found.evidence, folder)
        with tarfile.open(fileobj=file, mode="w:gz", format=tarfile.PAX_FORMAT) as tar:
            _add(tar, f"{name}/{README}", found.readme.encode("utf-8", "replace"))
            for path in sorted(path for path in folder.rglob("*") if path.is_file()):
                _add(tar, f"{name}/{path.relative_to(folder).as_posix()}", path.read_bytes())


def _add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(content), 0o644
    tar.addfile(member, io.BytesIO(content))


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    while piece := file.read(_CHUNK_BYTES):
        yield piece


ROUTES = (Route("/attempts/{key}/excerpt.tar.gz", archive),)
