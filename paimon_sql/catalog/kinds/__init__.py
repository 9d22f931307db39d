"""Kinds of catalogs, one module each, by the option ``metastore``."""
