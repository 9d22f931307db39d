"""Table layouts, one module each: the classes that `storage/table/layout.py` finds (Paimon: Table Types)."""
