"""Sequence fields of the option ``sequence.field``, which order rows of a key before the sequence number does."""

from __future__ import annotations

from collections.abc import Mapping


def sequence_fields(options: Mapping[str, str]) -> list[tuple[str, bool]]:
    """Return the columns of ``sequence.field``, each with whether its order is descending."""
    descending = options.get("sequence.field.sort-order", "ascending") == "descending"
    return [(name.strip(), descending) for name in options.get("sequence.field", "").split(",") if name.strip()]
