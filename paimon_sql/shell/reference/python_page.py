"""The reference page of the Python API without Spark, from its docstrings, whose examples the tests run."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator

from paimon_sql.api.catalog import Catalog, open_catalog, open_table
from paimon_sql.api.scan import Scan
from paimon_sql.api.table import Table
from paimon_sql.api.views import View

CLASSES = (Catalog, Table, Scan, View)
_HEAD = (
    "# Python without Spark",
    "",
    "The names of the Python API that works [without Spark](../python.md). In the examples, `catalog` is an open",
    "catalog with a database `shop`, and `orders` its table `shop.orders` with the columns `id`, `day` and `amount`,",
    "the primary key `id`, and two rows; `shop.large` is a view.",
)
_SECTION = re.compile(r"^(Args|Returns|Raises|Attributes):$")
_MEMBER = re.compile(r"^ {4}(\S[^:]*): (.*)$")


def python_page() -> Iterator[str]:
    """The lines of the page."""
    yield from _HEAD
    for function in (open_catalog, open_table):
        yield from ("", f"## {function.__name__}", *_entry(f"paimon_sql.{function.__name__}", function))
    for each in CLASSES:
        yield from ("", f"## {each.__name__}", "", *_text(inspect.getdoc(each) or ""))
        for name, member in _members(each):
            prefix = f"{each.__name__.lower()}.{name}"
            if isinstance(member, property):
                yield from ("", f"### {prefix}", "", *_text(inspect.getdoc(member) or ""))
            else:
                yield from ("", f"### {prefix}", *_entry(prefix, member))


def _members(kind: type) -> Iterator[tuple[str, property | Callable[..., object]]]:
    """The public methods and properties of a class, in their order."""
    for name, member in vars(kind).items():
        is_property = isinstance(member, property)
        if not name.startswith("_") and (is_property or inspect.isfunction(member)):
            yield name, member


def _entry(name: str, function: Callable[..., object]) -> Iterator[str]:
    signature = inspect.signature(function)
    shown = signature.replace(parameters=[p for p in signature.parameters.values() if p.name != "self"])
    yield from ("", "```text", f"{name}{str(shown).replace(chr(39), '')}", "```", "")
    yield from _text(inspect.getdoc(function) or "")


def _text(documentation: str) -> Iterator[str]:
    """A docstring in Markdown: its sections as lists, its examples as code."""
    in_section, in_example = False, False
    for line in documentation.splitlines():
        is_example = line.startswith((">>> ", "... ")) or (in_example and bool(line.strip()))
        if is_example != in_example:
            yield "```pycon" if is_example else "```"
            in_example = is_example
        if is_example:
            yield line
        elif section := _SECTION.match(line):
            in_section = True
            yield from (f"**{section[1]}**", "")
        elif in_section and (member := _MEMBER.match(line)):
            yield f"- `{member[1]}`: {_code(member[2])}"
        elif in_section and line.strip():
            yield f"  {_code(line.strip())}" if line.startswith("     ") else _code(line.strip())
        else:
            yield _code(line)
    if in_example:
        yield "```"


def _code(line: str) -> str:
    return line.replace("``", "`")
