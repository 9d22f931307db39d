"""CREATE TABLE and ALTER TABLE as Spark hands them over."""
