"""Calls of the JVM under other settings than those of the session."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from paimon_sql.spark.jvm.gateway import SETTINGS, JavaObject, Jvm


def with_settings(jvm: Jvm, settings: Mapping[str, str], run: Callable[[], Any]) -> Any:
    """The result of a call of the JVM with some settings changed, on this thread only."""
    changed = jvm.settings.clone()
    for key, value in settings.items():
        changed.setConfString(key, value)
    return jvm.singleton(SETTINGS).withExistingConf(changed, _Call(jvm, run))


class _Call(JavaObject):
    """A Scala function without parameters."""

    def __init__(self, jvm: Jvm, run: Callable[[], Any]) -> None:
        super().__init__(jvm)
        self._run = run

    def apply(self) -> Any:
        return self._run()

    class Java:
        implements = ["scala.Function0"]
