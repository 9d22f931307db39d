"""Interfaces of Java and Scala objects that Python uses, as protocols: what Py4J finds by name, with its types."""
