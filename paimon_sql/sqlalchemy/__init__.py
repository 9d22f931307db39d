"""A dialect of SQLAlchemy for the Thrift server: ``create_engine("paimon://host:10000/database")``.

It needs SQLAlchemy and PyHive alone: neither PySpark nor pyarrow is imported. SQLAlchemy 1.4 is supported for Superset.
"""
