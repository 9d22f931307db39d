"""Operations that must have their effect once, however often they are tried: streams and loads of files."""

from __future__ import annotations

import random
from contextlib import suppress
from dataclasses import replace

from paimon_sql.format.text.instants import current_millis
from paimon_sql.storage.commit.snapshot.carried_properties import EpochCommittedError, committed_once
from paimon_sql.storage.commit.transaction import Transaction
from paimon_sql.storage.copy.load_history import FilesLoadedError, LoadHistory, SourceFile
from paimon_sql.storage.operations import operations
from tests.faults.actions.base import Action
from tests.faults.actions.job import Job, write
from tests.faults.history import MAIN, Outcome, Role
from tests.faults.model import Effect, Row
from tests.faults.tables import TableKind


class Epoch(Action):
    """A stream commits its next epoch, or the last one once more, as after a restart; two processes may do so."""

    name, weight, role = "stream epoch", 6, Role.WRITE

    def fits(self, kind: TableKind) -> bool:
        return not kind.keys

    def run(self, job: Job) -> None:
        epochs: dict[str, int] = job.shared.setdefault("epochs", {})
        stream = job.chance.choice(["s1", "s1", "s2"])
        epoch = epochs.setdefault(stream, 0)
        if epoch and job.chance.random() < 0.3:
            epoch -= 1
        token = f"{stream}:{epoch}"
        chance = random.Random(token)
        first = 100_000 * int(stream[1:]) + 10 * epoch
        rows = tuple(Row(first + i, f"{token}-{i}", 1, chance.choice("xy")) for i in range(2))
        known = job.history.operations.get(token)
        if known is None:
            known = replace(job.operation, token=token, effect=Effect("put", rows), branch=MAIN)
            job.history.begin(known)
        table = job.opened(MAIN)
        known.identity = job.operation.identity
        messages, _ = write(table, rows)
        # Clocks may differ by a minute at most for the time at which a stream began to tell anything.
        began = job.shared.setdefault("began", {}).setdefault(stream, current_millis())
        known_time = began if job.shared["clocks agree"] and job.chance.random() < 0.5 else None
        once = committed_once(table, stream, epoch, began=lambda: known_time)
        with (
            Transaction(table, user=stream, identifier=epoch, validations=[once]) as transaction,
            suppress(EpochCommittedError),
        ):
            operations.append(transaction, messages)
        known.outcome = Outcome.ACKNOWLEDGED
        epochs[stream] = max(epochs[stream], epoch + 1)
        job.shared.setdefault("sure", set()).add(token)


class Load(Action):
    """Files are loaded that are not loaded yet, as COPY INTO does."""

    name, weight, role = "load files", 5, Role.WRITE

    def fits(self, kind: TableKind) -> bool:
        return not kind.keys

    def run(self, job: Job) -> None:
        files = [SourceFile(f"file:/in/f{i}", 100 + i, 1000 + i) for i in job.chance.sample(range(6), 2)]
        for attempt in range(5):
            table = job.opened(MAIN)
            history = LoadHistory(table)
            history.finish()
            known = history.loaded(files)
            wanted = [file for file in files if file not in known]
            if not wanted:
                break
            rows = tuple(Row(900_000 + f.size, f"load-{f.size}", 1, "x") for f in wanted)
            token = f"{job.operation.token}/{attempt}"
            tried = replace(job.operation, token=token, effect=Effect("put", rows), identity=job.operation.identity)
            job.history.begin(tried)
            messages, _ = write(table, rows)
            pending = history.prepared([(file, 1) for file in wanted])
            with Transaction(table, user=token, properties=pending.properties) as transaction:
                transaction.attach(pending.path)
                transaction.require(history.not_loaded(wanted))
                try:
                    operations.append(transaction, messages)
                except FilesLoadedError:
                    if attempt == 4:
                        raise
                    tried.outcome = Outcome.REFUSED
                    continue
            tried.outcome = Outcome.ACKNOWLEDGED
            history.finish()
            break
        job.shared.setdefault("loaded", set()).update(f"load-{f.size}" for f in files)
