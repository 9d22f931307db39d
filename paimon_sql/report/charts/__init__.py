"""Charts of a report, one small class each."""

from collections.abc import Sequence

from paimon_sql.report.charts.base import Chart
from paimon_sql.report.charts.files import FileSizes, Levels, Partitions, ReadAmplification
from paimon_sql.report.charts.history import BytesOverTime, CommitDuration, CommitFrequency, RowsOverTime
from paimon_sql.report.charts.space import ExpiryNow, RetainedSpace

CHARTS: Sequence[Chart] = (
    RowsOverTime(),
    BytesOverTime(),
    CommitFrequency(),
    CommitDuration(),
    FileSizes(),
    Partitions(),
    ReadAmplification(),
    Levels(),
    RetainedSpace(),
    ExpiryNow(),
)
"""All charts, in the order of the page."""
