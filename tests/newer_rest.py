"""What REST servers of newer versions of Apache Paimon know more: a front before the server of `rest_server`.

It keeps the partitions of format tables (``metastore.partitioned-table``), and replaces tables, as the server of
Paimon 2.0's tests does; everything else is answered by the server behind it.
"""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import Any
from urllib.parse import unquote, urlsplit

from .rest_server import RestServer
from .web import Handler, listening

UNKNOWN = -1
_TOLD = ("recordCount", "fileSizeInBytes", "fileCount")
_LAST = "lastFileCreationTime"

Spec = tuple[tuple[str, str], ...]


@dataclass
class NewerRest:
    """The server, by its front.

    Attributes:
        behind: the server behind it.
        url: where the front listens.
        replaces: whether it replaces tables; servers of before do not know the request.
        registers: the partitions of each table by its full name, with what is known of each.
    """

    behind: RestServer
    url: str = ""
    replaces: bool = True
    registers: dict[str, dict[Spec, dict[str, Any]]] = field(default_factory=dict)
    lock: Any = field(default_factory=Lock)

    @property
    def options(self) -> dict[str, str]:
        """The options of its catalog."""
        return self.behind.options | {"uri": self.url}

    def new_name(self) -> str:
        """A name that no database of this server has."""
        return self.behind.new_name()

    def java(self, *words: object) -> list[str]:
        """What Java's client of the server behind answers."""
        return self.behind.java(*words)

    def answer(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
        """The answer to a request."""
        words = [unquote(word) for word in urlsplit(path).path.split("/")[1:]]
        if len(words) == 6 and method == "DELETE":
            self.registers.pop(f"{words[3]}.{words[5]}", None)
        elif len(words) >= 7 and words[2] == "databases" and words[4] == "tables":
            name, rest = f"{words[3]}.{words[5]}", words[6:]
            if rest == ["replace"] and method == "POST":
                return self._replaced(name, json.loads(body))
            if rest[0] == "partitions":
                status, said = self.passed_on("GET", path[: path.index("/partitions")], b"", headers)
                table = json.loads(said)
                options = table["schema"]["options"] if status == 200 else {}
                if options.get("type") == "format-table":
                    if options.get("metastore.partitioned-table") != "true":
                        return _refused(501, "TABLE", name, "keeps no partitions")
                    return self._partitions(name, method, rest[1:], json.loads(body or b"{}"))
        return self.passed_on(method, path, body, headers)

    def passed_on(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
        """What the server behind answers."""
        with closing(http.client.HTTPConnection(urlsplit(self.behind.url).netloc, timeout=60)) as link:
            link.request(method, path, body or None, headers)
            answer = link.getresponse()
            return answer.status, answer.read()

    def _replaced(self, name: str, body: dict[str, Any]) -> tuple[int, bytes]:
        if not self.replaces:
            return 404, b"no such path"
        try:
            self.java("replace", name, json.dumps(body["schema"]))
        except AssertionError as error:
            return _refused(404 if "NotExist" in str(error) else 500, "TABLE", name, str(error))
        return 200, b""

    def _partitions(self, table: str, method: str, rest: list[str], body: dict[str, Any]) -> tuple[int, bytes]:
        with self.lock:
            register = self.registers.setdefault(table, {})
            if method == "GET":
                return 200, json.dumps({"partitions": list(register.values())}).encode()
            specs = [tuple(spec.items()) for spec in body["partitionSpecs"]]
            if rest == ["drop"]:
                missing = [spec for spec in specs if spec not in register]
                if missing and not body["ignoreIfNotExists"]:
                    return _refused(404, "PARTITION", str(missing[0]), "is not there")
                for spec in specs:
                    register.pop(spec, None)
                return 200, b"{}"
            existed = [spec for spec in specs if spec in register]
            if existed and not body["ignoreIfExists"]:
                return _refused(409, "PARTITION", str(dict(existed[0])), "is there already")
            created = [spec for spec in specs if spec not in register]
            for spec in created:
                register[spec] = {"spec": dict(spec), "totalBuckets": -1, "done": False}
                register[spec] |= dict.fromkeys((*_TOLD, _LAST), UNKNOWN)
            for told in body.get("partitionStatistics") or ():
                _learn(register[tuple(told["spec"].items())], told, anew=body.get("replaceStatistics", False))
            answer = {"created": [dict(s) for s in created], "existed": [dict(s) for s in existed]}
            return 200, json.dumps(answer).encode()


def _learn(known: dict[str, Any], told: dict[str, Any], *, anew: bool) -> None:
    for member in _TOLD:
        if told[member] != UNKNOWN:
            known[member] = told[member] + (0 if anew or known[member] == UNKNOWN else known[member])
    if told[_LAST] != UNKNOWN:
        known[_LAST] = told[_LAST] if anew else max(told[_LAST], known[_LAST])


def _refused(status: int, kind: str, name: str, why: str) -> tuple[int, bytes]:
    said = {"resourceType": kind, "resourceName": name, "message": f"{name} {why}", "code": status}
    return status, json.dumps(said).encode()


@contextmanager
def fronted(behind: RestServer) -> Iterator[NewerRest]:
    """A front before a server."""
    newer = NewerRest(behind)

    class Front(Handler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            kept = {k: v for k, v in self.headers.items() if k.lower() in ("authorization", "content-type")}
            status, answer = newer.answer(self.command, self.path, self.request_body(), kept)
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        do_GET = do_POST = do_DELETE = _answer

    with listening(Front) as newer.url:
        yield newer
