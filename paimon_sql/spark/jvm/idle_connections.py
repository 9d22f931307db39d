"""Connections to Python that threads of the JVM leave behind when they end.

A thread of the JVM that calls a Python object opens a connection, to which a thread of Python listens. Py4J hands it
back to a list from which only its own thread takes it again, so that it stays for ever once that thread has ended.
Spark's pools let threads end after a minute without work, and a server's process would fill up.
"""

from __future__ import annotations

import threading
import time
import weakref

from py4j.protocol import Py4JError

from paimon_sql.spark.jvm.gateway import Jvm, private_field

EVERY = 60.0
"""Seconds between two times that idle connections are let go of."""


def let_go_by_itself(jvm: Jvm) -> None:
    """Let go of idle connections now and again, as long as the JVM is in use."""
    arguments = (weakref.ref(jvm),)
    threading.Thread(target=_watch, args=arguments, name="paimon-connections", daemon=True).start()


def let_go(jvm: Jvm) -> None:
    """Let go of the connections that are idle.

    They are not closed, only no longer held: a living thread takes its own up again, and those of threads that have
    ended are closed by the JVM's next garbage collection, whereupon Python's threads end.
    """
    client = jvm.gateway.java_gateway_server.getCallbackClient()
    _, lock = private_field(client, "lock")
    _, connections = private_field(client, "connections")
    lock.lock()
    try:
        connections.clear()
    finally:
        lock.unlock()


def _watch(used: weakref.ref[Jvm]) -> None:
    while True:
        time.sleep(EVERY)
        jvm = used()
        if jvm is None or jvm.context._jsc is None:
            return
        try:
            let_go(jvm)
        except (Py4JError, OSError):
            return  # the JVM has ended
        del jvm
