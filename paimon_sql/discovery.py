"""Discovery of implementations: the classes of one kind in the modules of a package."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from importlib import import_module
from pkgutil import walk_packages
from types import ModuleType
from typing import ClassVar, Protocol, TypeVar

Kind = TypeVar("Kind")


class Named(Protocol):
    """A class with a name, by which a registry finds it."""

    name: ClassVar[str]


NamedKind = TypeVar("NamedKind", bound=Named)


def modules_below(package: str) -> Iterator[ModuleType]:
    """Import and yield the modules of a package, recursively, in the order of their names."""
    for found in walk_packages(import_module(package).__path__, f"{package}."):
        yield import_module(found.name)


def implementations(package: str, kind: Callable[..., Kind]) -> list[type[Kind]]:
    """The concrete, public classes of a kind that the modules of a package define, recursively.

    Args:
        package: its dotted name; importing its modules must not need the registry.
        kind: the base class.
    """
    return [
        member
        for module in modules_below(package)
        for name, member in vars(module).items()
        # Not issubclass: in Python 3.10 it raises for an alias such as tuple[int], which isinstance takes for a class.
        if kind in getattr(member, "__mro__", ())[1:]
        and member.__module__ == module.__name__
        and not name.startswith("_")
        and not inspect.isabstract(member)
    ]


def by_name(package: str, kind: Callable[..., NamedKind]) -> dict[str, type[NamedKind]]:
    """The classes of `implementations` that have a ``name``, by that name."""
    return {each.name: each for each in implementations(package, kind) if hasattr(each, "name")}
