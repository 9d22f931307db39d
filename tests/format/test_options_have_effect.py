"""Every option has its status: what is supported some code reads and some test tries, what is kept none reads."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import Any

import paimon_sql
from paimon_sql.format.options import generate_docs
from paimon_sql.format.options.registry import TOPICS, declared
from paimon_sql.format.options.values import Option, Scope, Support

ROOT = Path(paimon_sql.__file__).parents[1]
DECLARATIONS = ROOT / "paimon_sql/format/options"
CHECKS = ROOT / "paimon_sql/storage/schema/validation"
"""Where definitions of tables are checked, by options that others heed and such that are refused."""
NO_READERS = {DECLARATIONS / "validation.py", ROOT / "paimon_sql/storage/columns/in_options.py"}
"""Which changes of options are allowed, and the columns that they name: none of it is what an option says."""
CHANGES_ALONE = {"deletion-vectors.modifiable"}
"""Options that do nothing but allow changes of others."""
TRIALS = (ROOT / "tests", ROOT / "sql_examples", ROOT.parent / "shared/conformance")
"""Where statements and calls try options; what is only defined, checked or listed is not tried."""
UNTRIED = {
    *("alter-table-cascade", "client-pool-cache.eviction-interval-ms", "hive.skip-update-stats"),
    *("metadata.iceberg.glue.skip-archive", "metadata.iceberg.hive-conf-dir", "blob-descriptor.source-table"),
}
"""What no test tries yet; nothing may join them."""
NO_TRIALS = {"test_options.py", "test_options_have_effect.py", "test_schema_validation.py"}
PACKAGE = "paimon_sql.format.options"
OPTIONS = [option for topic in TOPICS.values() for option in declared(topic)]
NAMES = {
    (topic.__name__, name): value.key
    for topic in TOPICS.values()
    for name, value in vars(topic).items()
    if value in OPTIONS
}


@cache
def sources() -> dict[Path, str]:
    folders = ("paimon_sql", "procedures", "system_tables")
    paths = (path for folder in folders for path in sorted((ROOT / folder).rglob("*.py")))
    return {path: path.read_text() for path in paths if CHECKS not in path.parents and path not in NO_READERS}


@cache
def references() -> frozenset[str]:
    """The keys of the options that some code reads: by constant, imported or of an imported module, or by key."""
    keys = {option.key for option in OPTIONS}
    found: set[str] = set()
    for path, text in sources().items():
        topic = ".".join(path.relative_to(ROOT).with_suffix("").parts) if DECLARATIONS in path.parents else ""
        if not topic:
            found |= keys & set(re.findall(r'"([A-Za-z][\w.<>-]+)"', text))
        if PACKAGE not in text and not topic:
            continue
        topics: dict[str, str] = {}
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and node.module:
                found |= {NAMES[node.module, a.name] for a in node.names if (node.module, a.name) in NAMES}
                topics |= {a.asname or a.name: f"{node.module}.{a.name}" for a in node.names}
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                where = (topics.get(node.value.id, ""), node.attr)
                found |= {NAMES[where]} if where in NAMES else set()
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and (topic, node.id) in NAMES:
                found.add(NAMES[topic, node.id])
    return frozenset(found)


def of_standing(standing: Support) -> list[Option[Any]]:
    return [option for option in OPTIONS if option.status.standing is standing]


def test_every_option_that_is_supported_is_read_somewhere() -> None:
    unread = {o.key for o in of_standing(Support.SUPPORTED)} - references()
    assert unread == CHANGES_ALONE


@cache
def words() -> frozenset[str]:
    """The words of all trials, keys as a statement, a session's setting or a call has them among them."""
    paths = (path for folder in TRIALS for path in sorted(folder.rglob("*")) if path.suffix in (".py", ".sql", ".slt"))
    texts = [path.read_text() for path in paths if path.name not in NO_TRIALS]
    for page in sorted((ROOT / "docs").glob("*.md")):  # whose blocks are run by tests
        texts += re.findall(r"```\w+\n(.*?)```", page.read_text(), re.DOTALL)
    return frozenset(word.strip(".") for text in texts for word in re.findall(r"[\w.-]+", text))


def is_tried(option: Option[Any]) -> bool:
    """Whether a test names the option: by a key, as an argument of a call, or by its constant."""
    constant = next(name for (_, name), key in NAMES.items() if key == option.key)
    if option.pattern is not None:
        return constant in words() or any(option.pattern.fullmatch(word) for word in words())
    keys = (option.key, *option.alternatives)
    named = {constant, *keys, *(f"spark.paimon.{k}" for k in keys), *(re.sub(r"[.-]", "_", k) for k in keys)}
    return not named.isdisjoint(words())


def test_every_option_that_is_supported_is_tried_somewhere() -> None:
    assert {o.key for o in of_standing(Support.SUPPORTED) if not is_tried(o)} == UNTRIED


def test_every_option_that_is_kept_is_read_nowhere_and_names_who_heeds_it() -> None:
    kept = of_standing(Support.KEPT)
    # What Flink finds its jobs by is taken out of copies of a table's options, and not heeded.
    assert [o.key for o in kept if o.key in references() and o.scope is not Scope.FLINK] == []
    assert all(o.status.by for o in kept)


def test_every_option_that_is_refused_is_looked_at_where_it_is_refused_and_says_why() -> None:
    checks = "".join(path.read_text() for path in CHECKS.glob("*.py"))
    constants = {key: name for (_, name), key in NAMES.items()}
    for option in of_standing(Support.REFUSED):
        assert option.key in references() or constants[option.key] in checks
        assert option.status.by


def test_options_of_flink_are_kept_for_it() -> None:
    assert {o.status.by for o in OPTIONS if o.scope is Scope.FLINK} == {"Flink"}


def test_the_reference_shows_each_status() -> None:
    rows = {line.split("`")[1]: line for line in generate_docs().splitlines() if line.startswith("| `")}
    for option in OPTIONS:
        kept, refused = (f"*{word} {option.status.by}" in rows[option.key] for word in ("Kept for", "Refused:"))
        assert (kept, refused) == (
            option.status.standing is Support.KEPT,
            option.status.standing is Support.REFUSED,
        ), option.key
