"""The JVM behind Py4J: gateway, callbacks, classes made at run time, and the errors that cross it."""
