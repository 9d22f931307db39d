"""A store that speaks S3, for tests: moto's server in a process of its own, which answers one request after the other.

So its conditional put is a true one: among rivals one wins.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import boto3

BUCKET = "lake"
_PROGRAM = """
import logging
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

logging.getLogger("werkzeug").setLevel(logging.ERROR)
server = make_server("127.0.0.1", 0, DomainDispatcherApplication(create_backend_app), threaded=False)
print(server.server_port, flush=True)
server.serve_forever()
"""


@contextmanager
def s3_store() -> Iterator[dict[str, str]]:
    """The options of a catalog in a store that runs, with one empty bucket."""
    process = subprocess.Popen([sys.executable, "-c", _PROGRAM], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        with process.stdout:
            endpoint = f"http://127.0.0.1:{process.stdout.readline().strip()}"
        started = time.monotonic()
        options = {"s3.endpoint": endpoint, "s3.access-key": "paimon", "s3.secret-key": "se/cret+key"}
        options |= {"s3.path.style.access": "true", "s3.region": "us-east-1"}
        client = client_of(options)
        client.create_bucket(Bucket=BUCKET)
        client.close()
        assert time.monotonic() - started < 60
        yield options
    finally:
        process.kill()
        process.wait()


def client_of(options: dict[str, str]) -> boto3.client:
    """A client of the store."""
    return boto3.client(
        "s3",
        endpoint_url=options["s3.endpoint"],
        aws_access_key_id=options["s3.access-key"],
        aws_secret_access_key=options["s3.secret-key"],
        region_name=options["s3.region"],
    )
