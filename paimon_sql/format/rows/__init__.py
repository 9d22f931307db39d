"""Binary rows, which hold keys, partitions and statistics (Paimon: ``BinaryRow``)."""
