"""Replacement of nodes by compiled functions during Spark's own traversal of a tree (decision 9)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paimon_sql.spark.jvm.compiled_class import compiled_class, compiled_object
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.rules.compiled_rule import NODE

_FUNCTION = "scala.runtime.AbstractPartialFunction"
_MEMBERS = (
    "public boolean isDefinedAt(Object node) { return instead(node) != null; }",
    """
        public Object applyOrElse(Object node, scala.Function1 otherwise) {
            Object other = instead(node);
            return other == null ? otherwise.apply(node) : other;
        }""",
)


def compiled_exchange(jvm: Jvm, name: str, instead: Sequence[str], **fields: Any) -> Any:
    """A Scala partial function from node to node, for ``transformUp`` and ``transformAllExpressions``.

    Args:
        jvm: the JVM.
        name: the full name of the function's class.
        instead: Java source of members of the class; the last, a method ``instead``, returns the replacement of a
            node, null to keep it.
        fields: values of public fields among the members.
    """
    made = compiled_class(jvm, name, (*instead, *_MEMBERS), beside=NODE, parent=_FUNCTION)
    return compiled_object(jvm, made, **fields)
