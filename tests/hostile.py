"""Bytes of strangers for tests: mutations of real ones, and a look at the memory that reading them takes."""

from __future__ import annotations

import struct
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

Case = tuple[bytes, Callable[[bytes], object]]
"""Real bytes, and what reads them."""
MANY = settings(
    max_examples=60,
    deadline=timedelta(seconds=20),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
"""How many mutations a test looks at."""

MOST_BYTES = 64 << 20
"""The most memory that reading a mutation of some hundred bytes may take."""
_EXTREMES = (0, 1, -1, 127, 255, 2**15, 2**16 - 1, 2**31 - 1, -(2**31), 2**32 - 1, 2**62, 2**63 - 1, -(2**63), 2**40)
_NUMBERS = [
    (n % 2 ** (8 * struct.calcsize(kind))).to_bytes(struct.calcsize(kind), order)
    for n in _EXTREMES
    for kind in ("b", "h", "i", "q")
    for order in ("little", "big")
] + [b"\xff" * size + b"\x01" for size in (1, 3, 4, 8, 9, 20)]


@st.composite
def mutations(draw: st.DrawFn, data: bytes) -> bytes:
    """Some bytes changed, as by chance or on purpose: flipped bits, extreme numbers, cuts, repeated and lost parts."""
    found = bytearray(data)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(len(found) - 1, 0)))
        match draw(st.integers(0, 5)):
            case 0 if found:
                found[at] ^= 1 << draw(st.integers(0, 7))
            case 1 | 2:
                number = draw(st.sampled_from(_NUMBERS))
                found[at : at + len(number)] = number
            case 3:
                del found[at : at + draw(st.integers(1, 16))]
            case 4:
                found[at:at] = found[at : at + draw(st.integers(1, 64))]
            case _:
                del found[at:]
    return bytes(found)


@contextmanager
def little_memory(most: int = MOST_BYTES) -> Iterator[None]:
    """Fail if what runs inside takes more memory of Python and NumPy at a time."""
    tracemalloc.start()
    try:
        yield
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak <= most, f"{peak} bytes were taken"


def survives(read: Callable[[], object], *refusals: type[Exception]) -> None:
    """Read bytes of a stranger: a value comes out, or one of some errors, and little memory is taken."""
    with little_memory(), suppress(*refusals):
        read()
