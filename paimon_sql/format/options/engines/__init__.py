"""Topics of options: engines and catalogs."""
