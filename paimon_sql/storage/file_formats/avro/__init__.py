"""The Avro file format (spec: Avro)."""
