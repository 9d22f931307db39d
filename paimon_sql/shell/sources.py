"""Sources of statements besides the prompt: the command line, files, standard input."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from paimon_sql.errors import InvalidInputError
from paimon_sql.shell.text.splitter import Piece, split, split_lines


@dataclass(frozen=True)
class Source:
    """Pieces to run, and the name of their file; None for the command line."""

    pieces: Iterable[Piece]
    origin: str | None = None


def from_text(text: str) -> Source:
    """The statements of one ``-e``."""
    return Source(split(text))


def from_file(name: str) -> Source:
    """The pieces of a file, read eagerly, so that a missing file is an error before anything runs.

    Raises:
        InvalidInputError: the file cannot be read, or is not UTF-8.
    """
    return Source(split(text_of(name)), origin=name)


def text_of(name: str) -> str:
    """The text of a file.

    Raises:
        InvalidInputError: the file cannot be read, or is not UTF-8.
    """
    try:
        return Path(name).expanduser().read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InvalidInputError(f"The file {name} cannot be read: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise InvalidInputError(
            f"The file {name} is not UTF-8: the byte at {error.start} is none of it.", remedy="Convert it with iconv."
        ) from error


def from_stream(stream: Iterable[str]) -> Source:
    """The pieces of a stream of lines, such as a pipe; each runs as soon as it is complete."""
    return Source(split_lines(stream), origin="standard input")
