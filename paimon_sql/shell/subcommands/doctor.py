"""``paimon-sql doctor``: runs the checks, and prints what they find."""

from __future__ import annotations

from paimon_sql.errors import SetupError
from paimon_sql.shell.doctor.base import Place, State
from paimon_sql.shell.doctor.lake import CatalogCheck, ClockCheck, CommitCheck, StoreCheck
from paimon_sql.shell.doctor.machine import DiskCheck, JavaCheck, PySparkCheck, PythonCheck, SparkCheck
from paimon_sql.shell.engine.rows import Column
from paimon_sql.shell.formats.base import Format
from paimon_sql.shell.formats.records import show_records

CHECKS = (
    PythonCheck(),
    JavaCheck(),
    PySparkCheck(),
    SparkCheck(),
    DiskCheck(),
    CatalogCheck(),
    StoreCheck(),
    CommitCheck(),
    ClockCheck(),
)
"""The checks in their order."""
_NAMES = ("check", "state", "found", "remedy")
_COLUMNS = [Column(name, "string") for name in _NAMES]


def examine(place: Place, form: Format) -> None:
    """Run all checks and print their findings, one row each.

    Args:
        place: what is checked.
        form: the output format.

    Raises:
        SetupError: a check failed.
    """
    found = [(check.name, finding) for check in CHECKS for finding in check.all_findings(place)]
    rows = [(name, finding.state.value, finding.what, finding.remedy or "") for name, finding in found]
    show_records(form, _COLUMNS, [dict(zip(_NAMES, row, strict=True)) for row in rows])
    failed = [name for name, finding in found if finding.state is State.FAILED]
    if failed:
        raise SetupError(f"Failed: {', '.join(dict.fromkeys(failed))}.")
