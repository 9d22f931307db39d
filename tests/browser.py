"""A real browser that looks at pages, which a server of the test hands out."""

from __future__ import annotations

import functools
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Empty, SimpleQueue

import pytest

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
needs_browser = pytest.mark.skipif(BROWSER is None, reason="there is no Chromium here")
_SECONDS = 300


class PageServer(ThreadingHTTPServer):
    """Serves the files of a directory, and takes what scripts of pages ``POST``."""

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), functools.partial(_Handler, directory=str(folder)))
        self.found: SimpleQueue[bytes] = SimpleQueue()

    def found_by(self, page: str, profile: Path, *flags: str) -> object:
        """What the script of a page posts, as JSON, when a browser shows it.

        Args:
            page: its path.
            profile: an empty directory for the browser.
            flags: further arguments of the browser.
        """
        assert BROWSER is not None
        command = [
            BROWSER,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            f"--user-data-dir={profile}",
            *flags,
            f"http://127.0.0.1:{self.server_port}/{page}",
        ]
        with (profile / "log").open("w+") as log:
            browser = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
            try:
                answer: object = json.loads(self.found.get(timeout=_SECONDS))
            except Empty:
                log.seek(0)
                pytest.fail(f"{page} posted nothing. The browser says: {log.read()[-2000:]}")
            finally:
                os.killpg(browser.pid, signal.SIGKILL)
                browser.wait()
        return answer

    def handle_error(self, request: object, client_address: object) -> None:
        """A browser that is closed does not read on."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            raise


class _Handler(SimpleHTTPRequestHandler):
    server: PageServer

    def do_POST(self) -> None:
        self.server.found.put(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def serving(folder: Path) -> Iterator[PageServer]:
    """A server of a directory's files."""
    with PageServer(folder) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server
        finally:
            server.shutdown()
