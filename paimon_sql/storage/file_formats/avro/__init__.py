"""The Avro file format."""
