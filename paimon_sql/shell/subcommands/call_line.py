"""The command line of ``paimon-sql call``: its own options, and the procedure with its words.

It is light to import, so that plain calls run without the parser of the other commands.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from paimon_sql.errors import InvalidInputError
from paimon_sql.shell.console import exit_status, new_report, standard_output
from paimon_sql.shell.formats import formats

WAREHOUSE, FORMAT, SILENT = "-w --warehouse", "--format", "-S --silent"
CATALOG_OPTION = "--catalog-option --catalog_conf"
"""The options of a call, by their names separated by blanks."""

_WITH_VALUE = (WAREHOUSE, FORMAT, CATALOG_OPTION)
_OPTIONS = {name: option for option in (*_WITH_VALUE, SILENT) for name in option.split()}
_HELP = frozenset(["-h", "--help"])
_UNCLEAR = re.compile(r"--|-(?!-|h\Z|\d+\Z).+", re.DOTALL)
"""Words that may be several options in one, and the word that ends options."""


@dataclass(frozen=True)
class CallLine:
    """A call as the command line gives it.

    Attributes:
        procedure: the name of the procedure.
        words: the words of its arguments.
        warehouse: the catalog's warehouse; None for the default.
        catalog: the catalog's options.
        output: the name of the output format.
        header: whether to print column names.
        silent: whether to print only errors.
        verbose: whether to print each commit, and all details of errors.
    """

    procedure: str
    words: Sequence[str]
    warehouse: str | None = None
    catalog: Mapping[str, str] = field(default_factory=dict)
    output: str = "table"
    header: bool = True
    silent: bool = False
    verbose: bool = False


def plain_call(words: Sequence[str]) -> CallLine | None:
    """Read a command line that is a plain call.

    Returns:
        The call; None for other commands, for help, and for whatever only the complete parser understands or refuses.
    """
    if words[:1] != ["call"]:
        return None
    given: dict[str, list[str]] = {}
    others: list[str] = []
    rest = list(words[1:])
    while rest:
        word = rest.pop(0)
        name, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
        option = _OPTIONS.get(name)
        if option is None and not _UNCLEAR.fullmatch(word):
            others.append(word)
        elif option == SILENT and not equals:
            given[option] = []
        elif option in _WITH_VALUE and (equals or rest):
            given.setdefault(option, []).append(value if equals else rest.pop(0))
        else:
            return None
    output = given.get(FORMAT, ["table"])[-1]
    if not others or asks_for_help(others) or output not in formats():
        return None
    try:
        catalog = pairs_of(given.get(CATALOG_OPTION, []))
    except InvalidInputError:
        return None
    warehouse = given.get(WAREHOUSE, [""])[-1] or None
    return CallLine(others[0], others[1:], warehouse, catalog, output, silent=SILENT in given)


def asks_for_help(words: Iterable[str]) -> bool:
    """Whether words ask for help."""
    return not _HELP.isdisjoint(words)


def pairs_of(values: Iterable[str]) -> dict[str, str]:
    """The pairs of ``KEY=VALUE``.

    Raises:
        InvalidInputError: a value is not a pair.
    """
    pairs = {}
    for value in values:
        key, sign, text = value.partition("=")
        if not sign or not key.strip():
            raise InvalidInputError(f"'{value}' is not KEY=VALUE.")
        pairs[key.strip()] = text
    return pairs


def run_call(line: CallLine) -> int:
    """Call the procedure and print its result; returns the exit status, and reports an error."""
    report = new_report(line.verbose)
    form = formats()[line.output](standard_output(), header=line.header)
    arguments = line.procedure, line.words, line.warehouse, line.catalog, form, report.console

    def work() -> None:
        from paimon_sql.shell.subcommands.without_pandas import do_without_pandas

        do_without_pandas()
        from paimon_sql.shell.subcommands.call import call_procedure

        call_procedure(*arguments, silent=line.silent)

    return exit_status(work, report.error)
