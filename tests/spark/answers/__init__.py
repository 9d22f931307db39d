"""Random tables and random queries, whose answers are compared with those of reads without push-down.

``python -m tests.spark.answers --minutes 60 --seed 7`` runs many; a failing seed is made small and printed as SQL.
"""
