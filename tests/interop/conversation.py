"""Requests to a program in a JVM, one after the other: words of a line, which it answers by a line."""

from __future__ import annotations

import subprocess


class Conversation:
    """What ``CatalogServer`` is asked and answers: ``ok`` or an error, and words.

    Args:
        process: the program.
    """

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def __call__(self, *words: object) -> list[str]:
        """What it answers; AssertionError for an error."""
        self.send(*words)
        return self.answer()

    def send(self, *words: object) -> None:
        """Ask without waiting for the answer."""
        assert self.process.stdin is not None
        self.process.stdin.write("\t".join(map(str, words)) + "\n")
        self.process.stdin.flush()

    def answer(self) -> list[str]:
        """The next answer."""
        status, *words = self.line()
        assert status == "ok", words
        return words

    def line(self) -> list[str]:
        """The next line of answers as it is."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().rstrip("\n").split("\t")

    def close(self) -> None:
        """End the program."""
        self.process.communicate()
