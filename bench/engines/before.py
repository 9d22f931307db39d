"""Another version of this project, from a checkout of it: what a change makes faster or slower is seen in one run."""

from __future__ import annotations

from bench.engines.paimon import PaimonEngine


class BeforeEngine(PaimonEngine):
    """`PaimonEngine` in a process that imports ``paimon_sql`` from the checkout that ``--before`` names."""


ENGINE = BeforeEngine
