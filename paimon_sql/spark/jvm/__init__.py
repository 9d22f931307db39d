"""Access to the JVM through Py4J: gateway, callbacks, classes made at run time, errors that cross the gateway."""
