"""A process that is refused what Windows refuses, as far as Linux can pretend it.

`pretend` takes modules and names of POSIX away, opens no directory, flushes no file that is open for reading only, and
neither replaces, renames nor deletes a file that this process has open. It is called after the imports of other
libraries, which know by themselves where they run, and before those of the product.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import signal
import sys
from collections.abc import Callable
from fcntl import F_GETFL, fcntl
from pathlib import Path

_MODULES = ("fcntl", "grp", "pty", "pwd", "resource", "syslog", "termios", "tty")
_OF_OS = (
    *(
        "O_CLOEXEC",
        "O_DIRECTORY",
        "O_NOFOLLOW",
        "O_NONBLOCK",
        "chown",
        "fchmod",
        "fchown",
        "fdatasync",
        "fork",
        "forkpty",
    ),
    *(
        "getegid",
        "geteuid",
        "getgid",
        "getloadavg",
        "getpgid",
        "getuid",
        "killpg",
        "lchown",
        "mkfifo",
        "nice",
    ),
    *(
        "pread",
        "pwrite",
        "register_at_fork",
        "sched_getaffinity",
        "setsid",
        "statvfs",
        "sync",
        "sysconf",
        "uname",
        "wait4",
    ),
)
_OF_SIGNAL = ("SIGALRM", "SIGCHLD", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGQUIT", "SIGUSR1", "SIGUSR2", "pthread_kill")
_REFUSED_CHARACTERS = re.compile(r'[<>:"|?*\\\x00-\x1f]')
_RESERVED = re.compile(r"(?:CON|PRN|AUX|NUL|COM\d|LPT\d)(?:\..*)?", re.IGNORECASE)


def is_refused(name: str) -> bool:
    """Whether Windows refuses a name of a file or directory."""
    return bool(_REFUSED_CHARACTERS.search(name) or _RESERVED.fullmatch(name)) or name.endswith((".", " "))


def pretend() -> None:
    """Refuse from here on what Windows refuses."""
    for name in _MODULES:
        sys.modules[name] = None  # type: ignore[assignment]
    for module, names in ((os, _OF_OS), (signal, _OF_SIGNAL)):
        for name in names:
            if hasattr(module, name):
                delattr(module, name)
    vars(shutil)["_use_fd_functions"] = False
    vars(os)["open"] = _opens_no_directory(os.open)
    vars(os)["fsync"] = _flushes_what_may_be_written(os.fsync)
    for name in ("unlink", "remove", "rename", "replace"):
        setattr(os, name, _leaves_open_files(getattr(os, name)))


def _opens_no_directory(opened: Callable[..., int]) -> Callable[..., int]:
    def open_file(path: os.PathLike[str] | str, *arguments: object, **named: object) -> int:
        if os.path.isdir(path):  # noqa: PTH112
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return opened(path, *arguments, **named)

    return open_file


def _flushes_what_may_be_written(flushed: Callable[[int], None]) -> Callable[[int], None]:
    def flush(descriptor: int) -> None:
        if fcntl(descriptor, F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
            raise OSError(errno.EBADF, "Bad file descriptor")
        flushed(descriptor)

    return flush


def _leaves_open_files(change: Callable[..., None]) -> Callable[..., None]:
    def changed(*paths: os.PathLike[str] | str) -> None:
        opened = set(_open_files())
        for path in paths:
            if os.path.realpath(path) in opened:
                raise PermissionError(errno.EACCES, "The file is used by another process", str(path))
        change(*paths)

    return changed


def _open_files() -> list[str]:
    found = []
    for descriptor in Path("/proc/self/fd").iterdir():
        try:
            found.append(os.readlink(descriptor))  # noqa: PTH115
        except FileNotFoundError:  # that of the listing itself
            continue
    return found
