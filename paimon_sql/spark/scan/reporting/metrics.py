"""What a scan's plan left out, as a metric of the scan's node in Spark's UI and its REST interface.

The UI makes a metric's class anew by its name, so that it must be one of the JVM. The one that a stock Spark has adds
bytes up; so the bytes that are read are the metric's value, and the numbers of files and manifests stand in its name.
"""

from __future__ import annotations

from typing import Any

from paimon_sql.spark.jvm.gateway import CONNECTOR, EXECUTION, Jvm
from paimon_sql.storage.scan.plan import ScanPlan

_PYTHON = f"{EXECUTION}.datasources.v2.python"
_KEY = "paimonPlanned"


def supported_metrics(jvm: Jvm, plan: ScanPlan) -> Any:
    """The scan's metric, as ``CustomMetric[]``; its description is the name that the UI shows."""
    m = plan.metrics
    title = (
        f"bytes planned, in {m.files_read} of {m.files} files ({m.files - m.files_read} skipped), "
        f"{m.manifests_read} of {m.manifests} manifests ({m.manifests - m.manifests_read} skipped)"
    )
    return jvm.array(f"{CONNECTOR}.metric.CustomMetric", [jvm.new(f"{_PYTHON}.PythonCustomMetric", _KEY, title)])


def reported_metrics(jvm: Jvm, plan: ScanPlan) -> Any:
    """The metric's value, as ``CustomTaskMetric[]``; known as soon as the scan is planned."""
    value = jvm.new(f"{_PYTHON}.PythonCustomTaskMetric", _KEY, plan.metrics.bytes_read)
    return jvm.array(f"{CONNECTOR}.metric.CustomTaskMetric", [value])
