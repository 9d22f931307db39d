"""Push-down of aggregates, orders, nested columns, variants and runtime filters."""
