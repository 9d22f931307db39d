"""Strategies of external paths: the external directory for the next data file (Paimon: `ExternalPathProvider`).

They are those of the option ``data-file.external-paths.strategy``. Reads do not need them, because manifests store the
full path of such files.
"""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate, cycle, islice

from paimon_sql.format.bytes.murmur3 import hash_bytes

_DIRECTORY_BITS = (4, 4, 4, 8)


def external_placer(
    strategy: str,
    roots: Sequence[str],
    weights: Sequence[int] | None = None,
    chance: Callable[[], float] = random.random,
) -> Callable[[str, str], str] | None:
    """A function from a bucket's relative directory and a file name to the file's full path.

    Args:
        strategy: ``none``, ``specific-fs``, ``round-robin``, ``entropy-inject`` or ``weight-robin``.
        roots: the external directories.
        weights: their positive weights, for ``weight-robin``.
        chance: returns a random number from 0 up to 1.

    Returns:
        None if files are stored in the table's directory.

    Raises:
        ValueError: the numbers of weights and roots differ, or the strategy is unknown.
    """
    if strategy == "none" or not roots:
        return None
    if strategy == "weight-robin" and weights and len(roots) > 1:
        if len(weights) != len(roots):
            raise ValueError(f"{len(roots)} external paths have {len(weights)} weights")
        bounds = list(accumulate(weights))
        return lambda bucket, name: f"{roots[bisect_right(bounds, chance() * bounds[-1])]}/{bucket}/{name}"
    first = int(chance() * len(roots))
    turns = islice(cycle(roots), first, None)
    if strategy == "entropy-inject":
        return lambda bucket, name: f"{next(turns)}/{bucket}/{entropy_directories(name)}/{name}"
    if strategy in ("round-robin", "specific-fs", "weight-robin"):
        return lambda bucket, name: f"{next(turns)}/{bucket}/{name}"
    raise ValueError(f"there is no strategy '{strategy}' for external paths")


def entropy_directories(file_name: str) -> str:
    """Four directories from a hash of the file name, to distribute files over an object store's key space."""
    bits = f"{hash_bytes(file_name.encode()) & 0xFFFFF:020b}"
    ends = list(accumulate(_DIRECTORY_BITS))
    return "/".join(bits[end - size : end] for end, size in zip(ends, _DIRECTORY_BITS, strict=True))
