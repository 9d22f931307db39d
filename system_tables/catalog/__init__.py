"""System tables about a whole catalog (``sys.all_tables``)."""
