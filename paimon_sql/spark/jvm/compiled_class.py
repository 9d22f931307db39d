"""Small Java classes, compiled at run time by Javassist, which every PySpark ships (decision 9).

They save calls from the JVM to Python where the answer is known or Python has nothing to do. They exist on the driver
only.
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
    """The class of that name, compiled from Java source if this JVM does not have it yet.

    Args:
        jvm: the JVM, a `Jvm`.
        name: the full name of the class.
        members: Java source of its fields, constructors and methods: fields first, each member after those that it
            refers to. Without a constructor the class gets one without parameters.
        beside: the full name of a class whose class loader defines the new class.
        parent: the full name of the superclass.
        interfaces: the full names of the interfaces.
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
    """A new object of a compiled class, with the values of its public fields."""
    new = made.getConstructors()[0].newInstance(jvm.array("java.lang.Object"))
    for field, value in fields.items():
        made.getField(field).set(new, value)
    return new
