"""The process of one engine: does one work after the other as it is told, by lines of JSON.

``python -m bench.worker ENGINE SETTINGS`` answers each line on standard input with one on standard output. Everything
else that is said, by Spark too, goes to standard error.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from typing import Any

from bench.dataset import Dataset
from bench.engines import engine_class
from bench.settings import Settings
from bench.works import SUITES
from bench.works.base import Stage

_LONGEST_REASON = 300


def main(engine_name: str, settings_text: str) -> None:
    """Start the engine, then serve until the input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def answer(**values: Any) -> None:
        answers.write(json.dumps(values) + "\n")
        answers.flush()

    settings = Settings.from_json(settings_text)
    folder = settings.scratch / engine_name
    folder.mkdir(parents=True, exist_ok=True)
    try:
        engine = engine_class(engine_name)(settings, folder)
        answer(version=engine.version(), changes=engine.changes, kinds=engine.kinds)
    except Exception as error:
        answer(error=_reason(error))
        raise
    stage = Stage(engine, Dataset(settings.data))
    for line in sys.stdin:
        task = json.loads(line)
        work = SUITES[settings.suite][task["work"]]
        try:
            if task["warm_up"]:
                work.warm_up(stage)
                answer(warm=True)
            else:
                answer(**asdict(work.sample(stage, task["repetition"])))
        except Exception as error:
            print(f"{work.name}: {error!r}", file=sys.stderr, flush=True)
            answer(error=_reason(error))
    engine.spark.stop()


def _reason(error: Exception) -> str:
    # Py4J's own first line says only where the JVM's error came through.
    lines = [x for x in str(error).strip().splitlines() if x.strip() and not x.startswith("An error occurred while")]
    return (lines or [type(error).__name__])[0].removeprefix(": ")[:_LONGEST_REASON]


if __name__ == "__main__":
    main(*sys.argv[1:])
