"""COPY INTO: rows from files into a table, and from a table or query into files."""
