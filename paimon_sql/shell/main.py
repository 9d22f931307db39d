"""The entry of the command ``paimon-sql``."""

from __future__ import annotations

import sys

from paimon_sql.shell.subcommands.call_line import plain_call, run_call


def main() -> None:
    """Run the command line; exits with its status."""
    line = plain_call(sys.argv[1:])
    if line is not None:
        sys.exit(run_call(line))
    # Calls are short, and many: typer alone takes longer to import than they take.
    from paimon_sql.shell.app import app

    app()
