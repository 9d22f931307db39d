"""JDBC catalog: stored in a relational database, in the tables of Apache Paimon's `JdbcCatalog`."""
