"""What tells older from newer rows of a key besides the sequence number: the option ``sequence.field``."""

from __future__ import annotations

from collections.abc import Mapping


def sequence_fields(options: Mapping[str, str]) -> list[tuple[str, bool]]:
    """The columns of ``sequence.field``, each with whether smaller values are newer."""
    descending = options.get("sequence.field.sort-order", "ascending") == "descending"
    return [(name.strip(), descending) for name in options.get("sequence.field", "").split(",") if name.strip()]
