"""Classes of a few lines that Javassist, which every PySpark brings along, compiles at run time (decision 9).

They answer by themselves what would otherwise be asked of Python, or ask only where Python has something to say. They
live on the driver alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from py4j.protocol import Py4JJavaError


def compiled_class(
    jvm: Any,
    name: str,
    members: Sequence[str],
    *,
    beside: str,
    parent: str | None = None,
    interfaces: Sequence[str] = (),
) -> Any:
    """A class of that name with members in Java's words, made if this JVM has it not yet.

    Args:
        jvm: the JVM, a `Jvm`.
        name: the full name of the class.
        members: its fields, constructors and methods as Javassist compiles them: fields first, and each where what it
            names is known. There is a constructor without parameters if none is among them.
        beside: the full name of a class in whose class loader it is to stand.
        parent: the full name of the class that it extends.
        interfaces: what it implements.
    """
    loader = jvm.java_class(beside).getClassLoader()
    try:
        return loader.loadClass(name)
    except Py4JJavaError as error:
        if error.java_exception.getClass().getSimpleName() != "ClassNotFoundException":
            raise
    pool = jvm.new("javassist.ClassPool", True)
    pool.appendClassPath(jvm.new("javassist.LoaderClassPath", loader))
    made = pool.makeClass(name)
    if parent is not None:
        made.setSuperclass(pool.get(parent))
    for interface in interfaces:
        made.addInterface(pool.get(interface))
    has_constructor, constructors = f"public {name.rpartition('.')[2]}(", jvm.cls("javassist.CtNewConstructor")
    for member in members:
        if member.rstrip().endswith(";"):
            made.addField(jvm.cls("javassist.CtField").make(member, made))
        elif member.startswith(has_constructor):
            made.addConstructor(constructors.make(member, made))
        else:
            made.addMethod(jvm.cls("javassist.CtNewMethod").make(member, made))
    if not any(member.startswith(has_constructor) for member in members):
        made.addConstructor(constructors.defaultConstructor(made))
    return made.toClass(loader, None)


def compiled_object(jvm: Any, made: Any, **fields: Any) -> Any:
    """A new object of a compiled class, with values of its public fields."""
    new = made.getConstructors()[0].newInstance(jvm.array("java.lang.Object"))
    for field, value in fields.items():
        made.getField(field).set(new, value)
    return new
