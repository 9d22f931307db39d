"""``paimon-sql archive-classes``: an archive of the classes that Spark loads."""

from __future__ import annotations

import tempfile
from pathlib import Path

import paimon_sql
from paimon_sql.errors import SetupError
from paimon_sql.shell.engine.report import Report
from paimon_sql.spark.session.class_archive import archive_of, record, recording_options
from paimon_sql.spark.session.prerequisites import check_java


def archive_classes(report: Report) -> None:
    """Start Spark once and archive the classes that it loads; later starts on this machine use them.

    Args:
        report: for the place of the archive.

    Raises:
        SetupError: the archive cannot be written.
    """
    archive = archive_of(check_java())
    try:
        archive.directory.mkdir(parents=True, exist_ok=True)
        archive.remove()  # a JVM that starts from an archive writes none
        with tempfile.TemporaryDirectory(dir=archive.directory) as directory:
            written = Path(directory, "classes.jsa")
            settings = {"spark.ui.enabled": "false", "spark.driver.extraJavaOptions": recording_options(written)}
            record(paimon_sql.connect(f"{directory}/warehouse", **settings))
            path = archive.replace(written)
    except OSError as error:
        raise SetupError(
            f"{archive.directory} cannot be written: {error}.", remedy="Set XDG_CACHE_HOME to a directory."
        ) from None
    report.note(f"Spark starts from {path} ({path.stat().st_size >> 20} MiB).")
