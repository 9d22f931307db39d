"""UPDATE, DELETE and MERGE: Spark's own rules find the changed rows and their values, this package writes them."""
