"""COPY INTO: loads files into a table, and unloads a table or query into files."""
