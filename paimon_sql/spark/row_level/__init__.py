"""UPDATE, DELETE and MERGE: Spark's own rules work out which rows change and how, this package carries it out."""
