"""What a catalog gives its tables: locks, snapshot commits, query authorization (Paimon: `CatalogEnvironment`)."""
