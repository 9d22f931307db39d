"""Types, values, rows and references of Paimon as Spark's, and back."""
