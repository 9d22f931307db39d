"""``CALL sys.report``: write the report page of a table."""

from __future__ import annotations

from pathlib import Path

from paimon_sql.errors import InvalidInputError, PaimonError
from paimon_sql.procedures.base import Context, Int, Long, OfTable, Procedure, Record, column, optional
from paimon_sql.procedures.files.remove_orphan_files import RemoveOrphanFiles
from paimon_sql.report.facts import Orphans, facts_of
from paimon_sql.storage.file_io.paths import temporary_sibling


class Report(Procedure):
    """Shows snapshots over time, file sizes, levels, retained space, the effect of an expiration, and recommendations.

    The page is self-contained and follows the light or dark theme of the browser. Only metadata is read, and the table
    is not changed. The files are written where the procedure runs: on Spark's driver.
    """

    summary = "Write an HTML page with charts of a table's state."
    example = "CALL sys.report(table => 'db.t', path => '/tmp/t.html')"

    class Arguments(OfTable, kw_only=True):
        path: str | None = optional(
            "The file, or a directory for it; by default `<db>.<table>-report.html` in the current directory."
        )
        images: str | None = optional("A directory in which each chart is also written as PNG.")
        orphans: bool = optional("Whether to search for orphan files, which lists all directories.", default=False)

    class Result(Record, kw_only=True):
        path: str = column("the file", nullable=False)
        charts: Int = column("number of charts", nullable=False)
        bytes: Long = column("its size in bytes", nullable=False)
        images: str | None = column("the directory of the PNG charts; null if not requested")
        advice: str | None = column("recommendations for the table, one per line")
        seconds: float = column("duration in seconds", nullable=False, default=None)
        note: str | None = column("whether nothing was written")

    def call(self, context: Context, arguments: Arguments) -> Result:
        # Deferred: drawing takes half a second to import, which other procedures do not need.
        from paimon_sql.report.page import html_of, images_of

        table = context.table(arguments.table)
        page = _page_path(arguments.path, f"{table.name.partition('.')[2] or table.name}-report.html")
        directory = None if arguments.images is None else _local(arguments.images, "images").absolute()
        facts = facts_of(table, _orphans(context, arguments.table) if arguments.orphans else None)
        data = html_of(facts).encode()
        charts = images_of(facts) if directory else {}
        if directory is not None and directory.exists() and not directory.is_dir():
            raise InvalidInputError(f"images is {directory}, which is not a directory.", remedy="Specify another one.")
        files = {page: data, **{directory / f"{name}.png": image for name, image in charts.items() if directory}}
        for path, content in () if arguments.dry_run else files.items():
            _write(path, content)
        return self.Result(
            path=str(page),
            charts=data.count(b'<div class="wide">'),
            bytes=len(data),
            images=str(directory) if directory else None,
            advice="\n".join(advice.text for _, advice in facts.advice) or None,
            note="dry run, nothing was written" if arguments.dry_run else None,
        )


def _orphans(context: Context, name: str) -> Orphans:
    found = RemoveOrphanFiles().call(context, RemoveOrphanFiles.Arguments(table=name, dry_run=True))
    return Orphans(found.deletedFileCount, found.deletedFileTotalLenInBytes)


def _page_path(text: str | None, name: str) -> Path:
    # Table names may hold characters that file names must not.
    name = "".join(c if c.isalnum() or c in "._-$" else "_" for c in name)
    path = Path(name) if text is None else _local(text, "path")
    return (path / name if path.is_dir() else path).absolute()


def _local(text: str, argument: str) -> Path:
    if not text.strip():
        raise InvalidInputError(f"{argument} is blank.", remedy="Specify a path, or leave it out.")
    if "://" in text and not text.startswith("file://"):
        raise InvalidInputError(
            f"{argument} is '{text}', but reports are written to the local file system.", remedy="Use a local path."
        )
    return Path(text.removeprefix("file://")).expanduser()


def _write(path: Path, data: bytes) -> None:
    """Write a file atomically."""
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
        raise PaimonError(f"{path} cannot be written: {error.strerror}.", remedy="Specify another path.") from error
