"""Definitions of views and functions as catalogs store them (spec: Views and Functions)."""
