"""File formats: Parquet, ORC, Avro and blob behind one interface, selected by name."""
