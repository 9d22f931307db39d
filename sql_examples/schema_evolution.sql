-- Columns come, go, change their names, types and places; old files are read as if they had been so from the start.
DROP TABLE IF EXISTS people;
CREATE TABLE people (id INT, name STRING, born INT);
INSERT INTO people VALUES (1, 'Ada', 1815);
ALTER TABLE people ADD COLUMNS (city STRING COMMENT 'where they live' AFTER name);
ALTER TABLE people RENAME COLUMN born TO birth_year;
ALTER TABLE people ALTER COLUMN id TYPE BIGINT;
INSERT INTO people VALUES (5000000000, 'Grace', 'New York', 1906);
SELECT * FROM people ORDER BY id;
ALTER TABLE people DROP COLUMN city;
DESCRIBE people;
SELECT schema_id, fields FROM people$schemas ORDER BY schema_id;
SELECT * FROM people VERSION AS OF 1;
