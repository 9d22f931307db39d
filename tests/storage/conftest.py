"""What all tests of this room share."""

from __future__ import annotations

from hypothesis import settings

# The first example of a test pays for imports and caches, and a busy machine for everything.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")
