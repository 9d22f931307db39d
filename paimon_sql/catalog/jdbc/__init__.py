"""The catalog that a relational database keeps, in the tables that Apache Paimon's JDBC catalog lays out."""
