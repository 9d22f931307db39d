"""Discovery of implementations: the classes of one kind in the modules of a package."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from pkgutil import resolve_name, walk_packages
from types import ModuleType
from typing import ClassVar, Protocol, TypeVar

Kind = TypeVar("Kind")


class Named(Protocol):
    """A class with a name, by which a registry finds it."""

    name: ClassVar[str]


NamedKind = TypeVar("NamedKind", bound=Named)


def is_installed(module: str) -> bool:
    """Whether a module can be imported; only the packages that it is in are imported for it."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def modules_below(package: str) -> Iterator[ModuleType]:
    """Import and yield the modules of a package, recursively, in the order of their names."""
    return map(import_module, _names_below(package))


def _modules_called(package: str, name: str) -> Iterator[ModuleType]:
    """Import and yield the modules below a package that are called as a kind is, or are in a package called so."""
    called, start = f".{name.replace('-', '_')}.", len(package)
    return map(import_module, (found for found in _names_below(package) if called in f"{found[start:]}."))


def _names_below(package: str) -> Iterator[str]:
    return (found.name for found in walk_packages(import_module(package).__path__, f"{package}."))


def registered(registry: str) -> Collection[object]:
    """The names in a registry above the caller, which is imported when it is asked.

    Args:
        registry: ``module:function`` of a function that returns the names.
    """
    names: Collection[object] = resolve_name(registry)()
    return names


def implementations(package: str, kind: Callable[..., Kind]) -> list[type[Kind]]:
    """The concrete, public classes of a kind that the modules of a package define, recursively.

    Args:
        package: its dotted name; importing its modules must not need the registry.
        kind: the base class.
    """
    return [each for module in modules_below(package) for each in _defined(module, kind)]


def _defined(module: ModuleType, kind: Callable[..., Kind]) -> list[type[Kind]]:
    return [
        member
        for name, member in vars(module).items()
        # Not issubclass: in Python 3.10 it raises for an alias such as tuple[int], which isinstance takes for a class.
        if kind in getattr(member, "__mro__", ())[1:]
        and member.__module__ == module.__name__
        and not name.startswith("_")
        and not inspect.isabstract(member)
    ]


def name_of(kind: type) -> str:
    """The name that a class declares, or else its own in snake case."""
    return vars(kind).get("name") or re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.__name__).lower()


def by_name(package: str, kind: Callable[..., NamedKind]) -> Mapping[str, type[NamedKind]]:
    """The classes of `implementations` that have a ``name``, by that name, in the order of their modules."""
    return _ByName(package, kind)


def instances(package: str, kind: Callable[..., NamedKind]) -> Mapping[str, NamedKind]:
    """An instance of each class of `by_name`, sorted by name."""
    return _Instances(_ByName(package, kind))


class _ByName(Mapping[str, type[NamedKind]]):
    """Classes by name; a lookup imports only the module or package that is called as the name is.

    All modules are imported for a name that stands in another one, for an unknown name, and to list the names.
    """

    def __init__(self, package: str, kind: Callable[..., NamedKind]) -> None:
        self._package = package
        self._kind = kind
        self._found: dict[str, type[NamedKind]] = {}

    @cached_property
    def _all(self) -> dict[str, type[NamedKind]]:
        return _named(modules_below(self._package), self._kind)

    def __getitem__(self, name: str) -> type[NamedKind]:
        if "_all" not in vars(self) and name not in self._found:
            self._found |= _named(_modules_called(self._package, name), self._kind)
        return self._found[name] if name in self._found else self._all[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)


class _Instances(Mapping[str, NamedKind]):
    """An instance of each of some classes, made when it is asked for, sorted by name."""

    def __init__(self, kinds: Mapping[str, type[NamedKind]]) -> None:
        self._kinds = kinds
        self._made: dict[str, NamedKind] = {}

    def __getitem__(self, name: str) -> NamedKind:
        return self._made[name] if name in self._made else self._made.setdefault(name, self._kinds[name]())

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._kinds))

    def __len__(self) -> int:
        return len(self._kinds)


def _named(modules: Iterable[ModuleType], kind: Callable[..., NamedKind]) -> dict[str, type[NamedKind]]:
    return {each.name: each for module in modules for each in _defined(module, kind) if hasattr(each, "name")}
