"""An embedded Spark listens on this machine alone: its driver, its web interface and its Python servers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import os, sys
import paimon_sql

spark = paimon_sql.connect(sys.argv[1], **{"spark.master": "local[1]", "spark.ui.port": "0"})
spark.sql("SELECT 1").collect()
children = open(f"/proc/self/task/{os.getpid()}/children").read().split()
own = set()
for process in ["self", *children]:
    for descriptor in os.listdir(f"/proc/{process}/fd"):
        try:
            own.add(os.readlink(f"/proc/{process}/fd/{descriptor}"))
        except OSError:
            pass
for kind in ("tcp", "tcp6"):
    for line in open(f"/proc/net/{kind}").readlines()[1:]:
        fields = line.split()
        if fields[3] == "0A" and f"socket:[{fields[9]}]" in own:
            print(fields[1].split(":")[0])
"""
LOOPBACK = {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="sockets are listed in /proc")
def test_an_embedded_spark_listens_on_loopback(tmp_path: Path) -> None:
    environment = {k: v for k, v in os.environ.items() if k != "SPARK_LOCAL_IP"}
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True, timeout=120)
    addresses = done.stdout.split()
    # The driver, the block manager, the web interface, Py4J on both sides.
    assert len(addresses) >= 4
    assert set(addresses) <= LOOPBACK
