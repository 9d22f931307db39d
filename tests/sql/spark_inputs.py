"""The statements of Spark's own tests of SQL, as the artifact of its tests keeps them.

An input file is cut as Spark's ``SQLQueryTestSuite`` cuts it:

- lines that begin with ``--`` are comments, and some of them orders: ``--SET key=value, …`` holds for the whole file,
  of the lines ``--CONFIG_DIM<n> key=value, …`` with one number one at a time, ``--IMPORT file`` puts the statements of
  another file first;
- a statement ends at a semicolon, wherever that stands, unless a backslash is before it;
- what stands between ``--QUERY-DELIMITER-START`` and ``--QUERY-DELIMITER-END`` is one statement, comments and all.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from tests.packages import fetched

ARTIFACT = "org.apache.spark:spark-sql_2.13:4.1.1:jar:tests"
_FOLDER = "sql-tests/inputs/"
_DELIMITER = "--QUERY-DELIMITER"
_END = re.compile(r"(?<=[^\\]);")
_ORDER = re.compile(r"--(SET|CONFIG_DIM\d*|IMPORT) +(.*)")
_SET = re.compile(r"SET\s+(spark\.[\w.]+)\s*=\s*(\S+)", re.IGNORECASE)
_BLANKS = "".join(map(chr, range(33)))
"""What Java's ``trim`` takes away."""

Settings = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Input:
    """A statement of Spark's tests.

    Attributes:
        file: the file that it stands in, or is brought into.
        number: which one of the file it is, from 1 on.
        text: the statement, without a semicolon at its end.
        settings: what the file has set when it comes, each key once.
    """

    file: str
    number: int
    text: str
    settings: Settings

    @property
    def place(self) -> str:
        """Where it stands."""
        return f"{self.file}#{self.number}"


@cache
def spark_inputs() -> tuple[Input, ...]:
    """All statements, file by file; one that stands in a file twice under the same settings comes once."""
    with zipfile.ZipFile(fetched(ARTIFACT)) as jar:
        names = sorted(name for name in jar.namelist() if name.startswith(_FOLDER) and name.endswith(".sql"))
        files = {name.removeprefix(_FOLDER): jar.read(name).decode("utf-8") for name in names}
    return tuple(each for name in files for each in _unlike(inputs_of(name, files)))


def inputs_of(name: str, files: dict[str, str]) -> Iterator[Input]:
    """The statements of one of some files.

    Of what is set for a file one at a time the last is taken: it is how plans are run, but for a type of timestamps.
    """
    comments, own = _parted(files[name])
    orders = [found.groups() for line in comments if (found := _ORDER.match(line))]
    brought = [_parted(files[other])[1] for order, other in orders if order == "IMPORT"]
    dimensions = {order: text for order, text in orders if order.startswith("CONFIG_DIM")}
    given = [text for order, text in orders if order == "SET"] + list(dimensions.values())
    settings = dict(_key_and_value(part) for text in given for part in text.split(","))
    lines = [line for code in (*brought, own) for line in code]
    for number, text in enumerate(_statements(lines), 1):
        yield Input(name, number, text, tuple(settings.items()))
        if found := _SET.fullmatch(text):
            settings[found[1]] = found[2]


def _parted(content: str) -> tuple[list[str], list[str]]:
    """The lines of a file that are comments or orders, and all others."""
    comments: list[str] = []
    code: list[str] = []
    for line in content.split("\n"):
        start = line.strip(_BLANKS)
        (comments if start.startswith("--") and not start.startswith(_DELIMITER) else code).append(line)
    return comments, code


def _statements(lines: list[str]) -> Iterator[str]:
    for text in _cut(lines):
        kept = [line for line in text.strip(_BLANKS).split("\n") if not line.startswith("--")]
        if statement := "\n".join(kept).strip(_BLANKS):
            yield statement


def _cut(lines: list[str]) -> Iterator[str]:
    """The texts between delimiters, and those between semicolons elsewhere."""
    held: list[str] = []
    for line in lines:
        mark = line.strip(_BLANKS)
        if mark.startswith(f"{_DELIMITER}-START"):
            yield from _END.split("\n".join(held))
        elif mark.startswith(f"{_DELIMITER}-END"):
            yield "\n".join(held).removesuffix(";")
        else:
            held.append(line)
            continue
        held = []
    yield from _END.split("\n".join(held))


def _key_and_value(text: str) -> tuple[str, str]:
    key, _, value = text.partition("=")
    return key.strip(), value.strip()


def _unlike(inputs: Iterator[Input]) -> Iterator[Input]:
    seen = set()
    for each in inputs:
        if (each.text, each.settings) not in seen:
            seen.add((each.text, each.settings))
            yield each
