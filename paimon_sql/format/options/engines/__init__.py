"""Options of engines and catalogs."""
