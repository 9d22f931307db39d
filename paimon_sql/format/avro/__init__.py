"""Avro container files, decoded to and encoded from columns (spec: Apache Avro 1.11)."""
