"""Actions in processes of their own, forked off this one."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable


def forked(action: Callable[[], object]) -> int:
    """Begin something in another process: its number."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            action()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    return child


def ended(child: int) -> int:
    """Wait for another process: its exit code, or minus the signal that ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def in_child(action: Callable[[], object]) -> int:
    """Do something in another process: its exit code, or minus the signal that ended it."""
    return ended(forked(action))
