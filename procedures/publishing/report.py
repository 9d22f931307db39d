"""``CALL sys.report``: how a table is doing, as a page with pictures."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from paimon_sql.errors import InvalidInputError, PaimonError
from paimon_sql.format.schema.types import BigIntType, BooleanType, DoubleType, IntType, string_type
from paimon_sql.procedures.base import TABLE, Argument, Context, Procedure, result
from paimon_sql.procedures.files.remove_orphan_files import RemoveOrphanFiles
from paimon_sql.procedures.values import DRY_RUN
from paimon_sql.report.facts import Orphans, facts_of
from paimon_sql.storage.file_io.paths import temporary_sibling


class Report(Procedure):
    """Snapshots over time, file sizes, levels, what holds the space, what expiry would do, and advice.

    One page that loads nothing else, in the light or dark theme of whoever reads it. It is told from metadata; the
    table is not changed. The files are written where the procedure runs: on Spark's driver.
    """

    name = "report"
    summary = "Write a page with pictures of how a table is doing."
    arguments = (
        TABLE,
        Argument("path", string_type(), "The page, or a folder for it; by default `<db>.<table>-report.html` here."),
        Argument("pictures", string_type(), "A folder that each chart is written into as well, as PNG."),
        Argument("orphans", BooleanType(), "Whether to search for files that nobody uses, which lists all folders."),
        DRY_RUN,
    )
    results = (
        result("path", string_type(False), "the page"),
        result("charts", IntType(False), "how many charts are on it"),
        result("bytes", BigIntType(False), "its size"),
        result("pictures", string_type(), "the folder of the pictures; null where none was asked for"),
        result("advice", string_type(), "what could be done for the table, a line each"),
        result("seconds", DoubleType(False), "how long it took"),
        result("note", string_type(), "whether nothing was written"),
    )
    example = "CALL sys.report(table => 'db.t', path => '/tmp/t.html')"

    def call(self, context: Context, **arguments: Any) -> list[tuple[Any, ...]]:
        # What draws takes half a second to import, which those who call other procedures need not wait for.
        from paimon_sql.report.page import html_of, pictures_of

        started = time.monotonic()
        table = context.table(arguments["table"])
        page = _page_path(arguments["path"], f"{table.name.partition('.')[2] or table.name}-report.html")
        folder = None if arguments["pictures"] is None else _local(arguments["pictures"], "pictures").absolute()
        facts = facts_of(table, _orphans(context, arguments["table"]) if arguments["orphans"] else None)
        data = html_of(facts).encode()
        pictures = pictures_of(facts) if folder else {}
        if folder is not None and folder.exists() and not folder.is_dir():
            raise InvalidInputError(f"pictures is {folder}, which is no folder.", remedy="Say another one.")
        files = {page: data, **{folder / f"{name}.png": picture for name, picture in pictures.items() if folder}}
        for path, content in () if arguments["dry_run"] else files.items():
            _write(path, content)
        return [
            (
                str(page),
                data.count(b'<div class="wide">'),
                len(data),
                str(folder) if folder else None,
                "\n".join(advice for _, advice in facts.advice) or None,
                round(time.monotonic() - started, 3),
                "dry run, nothing was written" if arguments["dry_run"] else None,
            )
        ]


def _orphans(context: Context, name: str) -> Orphans:
    rest = {argument.name: None for argument in RemoveOrphanFiles.arguments}
    ((files, size, *_),) = RemoveOrphanFiles().call(context, **{**rest, "table": name, "dry_run": True})
    return Orphans(files, size)


def _page_path(text: str | None, name: str) -> Path:
    # Names may hold what no file may be called.
    name = "".join(c if c.isalnum() or c in "._-$" else "_" for c in name)
    path = Path(name) if text is None else _local(text, "path")
    return (path / name if path.is_dir() else path).absolute()


def _local(text: str, argument: str) -> Path:
    if not text.strip():
        raise InvalidInputError(f"{argument} is blank.", remedy="Say where to write, or leave it out.")
    if "://" in text and not text.startswith("file://"):
        raise InvalidInputError(
            f"{argument} is '{text}', but a report is written to this machine's own files.", remedy="Name a local path."
        )
    return Path(text.removeprefix("file://")).expanduser()


def _write(path: Path, data: bytes) -> None:
    """Write a file whole or not at all."""
    temporary = Path(temporary_sibling(str(path)))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            temporary.write_bytes(data)
            temporary.replace(path)
        except OSError:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise PaimonError(f"{path} cannot be written: {error.strerror}.", remedy="Say another path.") from error
