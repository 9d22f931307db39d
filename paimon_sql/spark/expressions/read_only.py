"""Recognition of parsed statements that only read."""

from __future__ import annotations

from typing import Any

from paimon_sql.spark.jvm.gateway import CATALYST, Jvm

_PLANS = f"{CATALYST}.plans.logical"
_NOT_READS = (f"{_PLANS}.Command", f"{_PLANS}.ParsedStatement", f"{_PLANS}.InsertIntoDir")


def is_read_only(jvm: Jvm, plan: Any) -> bool:
    """Whether no node of a parsed plan is a command or a write."""
    nodes = [plan]
    while nodes:
        node = nodes.pop()
        if any(jvm.java_class(name).isInstance(node) for name in _NOT_READS):
            return False
        nodes += jvm.items(node.children())
    return True
