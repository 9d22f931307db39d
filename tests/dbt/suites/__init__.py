"""dbt's official suites for adapters, run by dbt's own environment: `tests/dbt/test_adapter.py` starts them."""
