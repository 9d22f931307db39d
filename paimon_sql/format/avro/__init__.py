"""Decoding and encoding of Avro container files (spec: Apache Avro 1.11)."""
