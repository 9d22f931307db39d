"""Translation of Catalyst's expressions to predicates of the storage core."""
