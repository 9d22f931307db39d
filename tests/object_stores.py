"""A store that speaks S3, for tests: moto's server in a process of its own, which answers one request after the other.

So its conditional put is a true one: among rivals one wins. One of its two buckets is for its keeper alone.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import boto3

BUCKET = "lake"
VAULT = "vault"
"""A bucket that only the access key `KEEPER` opens."""
KEEPER = "the-keeper"
_PROGRAM = """
import logging
import sys
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

logging.getLogger("werkzeug").setLevel(logging.ERROR)
moto, (vault, keeper) = DomainDispatcherApplication(create_backend_app), sys.argv[1:]

def guarded(request, answer):
    of_vault = request["PATH_INFO"].strip("/").partition("/")[0] == vault
    if of_vault and f"Credential={keeper}/" not in request.get("HTTP_AUTHORIZATION", ""):
        request["wsgi.input"].read(int(request.get("CONTENT_LENGTH") or 0))  # or the client would lose the answer
        answer("403 Forbidden", [("Content-Type", "application/xml")])
        return [b"<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"]
    return moto(request, answer)

server = make_server("127.0.0.1", 0, guarded, threaded=False)
print(server.server_port, flush=True)
server.serve_forever()
"""


@contextmanager
def s3_store() -> Iterator[dict[str, str]]:
    """The options of a catalog in a store that runs, with empty buckets."""
    command = [sys.executable, "-c", _PROGRAM, VAULT, KEEPER]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        with process.stdout:
            endpoint = f"http://127.0.0.1:{process.stdout.readline().strip()}"
        started = time.monotonic()
        options = {"s3.endpoint": endpoint, "s3.access-key": "paimon", "s3.secret-key": "se/cret+key"}
        options |= {"s3.path.style.access": "true", "s3.region": "us-east-1"}
        for bucket, owner in ((BUCKET, options), (VAULT, keepers(options))):
            client = client_of(owner)
            client.create_bucket(Bucket=bucket)
            client.close()
        assert time.monotonic() - started < 60
        yield options
    finally:
        process.kill()
        process.wait()


def keepers(options: dict[str, str]) -> dict[str, str]:
    """The options of a catalog that opens all buckets."""
    return {**options, "s3.access-key": KEEPER, "s3.secret-key": "ke+ep/er"}


def client_of(options: dict[str, str]) -> boto3.client:
    """A client of the store."""
    return boto3.client(
        "s3",
        endpoint_url=options["s3.endpoint"],
        aws_access_key_id=options["s3.access-key"],
        aws_secret_access_key=options["s3.secret-key"],
        region_name=options["s3.region"],
    )
