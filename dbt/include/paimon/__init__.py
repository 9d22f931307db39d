"""The macros of the dbt adapter ``paimon``."""

from pathlib import Path

PACKAGE_PATH = str(Path(__file__).parent)
