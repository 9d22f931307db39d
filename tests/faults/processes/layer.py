"""The layer itself: one round is one table, some processes, and a judge."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from paimon_sql.storage.file_io import LocalFileIO
from paimon_sql.storage.metadata.schemas import SchemaManager
from tests.faults.layers import Layer
from tests.faults.processes.host import Host, forked
from tests.faults.processes.journal import Journal
from tests.faults.processes.judge import judge, verdict_file, write_verdict
from tests.faults.processes.party import play_party
from tests.faults.processes.plan import Plan, plan_round
from tests.faults.report import Round
from tests.faults.tables import place

_LONGEST_JUDGEMENT = 90.0


class Processes(Layer):
    """Real processes on one table, through the storage core: they are killed, suspended and interrupted.

    A seed replays the operations and what is to go wrong; how the processes meet differs from run to run.
    """

    name, share = "processes", 0.3

    def play(self, seed: int, folder: Path) -> Round:
        """Play the round of a seed."""
        plan = plan_round(seed)
        own = folder / f"processes-{os.getpid()}-{seed}"
        shutil.rmtree(own, ignore_errors=True)
        own.mkdir(parents=True)
        try:
            return _played(plan, own)
        finally:
            shutil.rmtree(own, ignore_errors=True)


def _played(plan: Plan, folder: Path) -> Round:
    one = Round(Processes.name, plan.seed, str(plan))
    # This process stays without threads, so that it can be forked at any time: others touch the table.
    if not finishes(lambda: make_table(plan, folder)):
        one.violations.append("the table could not be made")
        return one
    journal = Journal(folder, place(folder))
    host = Host(plan, folder, journal, lambda number, first: play_party(plan, folder, number, first))
    host.run()
    return judged(one, host, lambda: write_verdict(folder, judge(plan, folder)))


def judged(one: Round, host: Host, judgement: Callable[[], None]) -> Round:
    """The round with what its judge says, in a process of their own."""
    if finishes(judgement):
        verdict = json.loads(verdict_file(host.folder).read_text())
        one.violations, one.operations, one.faults = verdict["violations"], verdict["operations"], verdict["faults"]
        one.faults = dict(Counter(one.faults) + host.struck)
        one.figures = {**verdict["figures"], "restarts": host.restarts}
        one.log = verdict["log"]
    else:
        one.violations.append("the table cannot be judged")
    one.violations = [*host.violations, *one.violations]
    if not one.violations:
        one.log = []
    return one


def make_table(plan: Plan, folder: Path) -> None:
    """Make the table of a round."""
    path = place(folder)
    schema = plan.kind.schema(int(time.time() * 1000), plan.options)
    assert SchemaManager(LocalFileIO(), str(path)).try_add(schema)


def finishes(work: Callable[[], None], seconds: float = _LONGEST_JUDGEMENT) -> bool:
    """Do something in a process of its own: whether it comes to a good end in time."""
    pid, until = forked(work), time.monotonic() + seconds
    while time.monotonic() < until:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return status == 0
        time.sleep(0.002)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return False
