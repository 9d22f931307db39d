"""Views and functions as catalogs store them (spec: Views and Functions)."""
