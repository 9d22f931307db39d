"""The dbt adapter, by dbt itself."""
