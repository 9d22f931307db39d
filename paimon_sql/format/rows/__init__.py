"""Binary rows: the encoding of keys, partitions and statistics (Paimon: ``BinaryRow``)."""
