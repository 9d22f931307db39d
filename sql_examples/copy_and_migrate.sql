-- Tables without rows written anew: a copy file by file, and plain Parquet files that become a table of Paimon.
DROP TABLE IF EXISTS trips;
DROP TABLE IF EXISTS trips_of_may;
CREATE TABLE trips (id INT, km DOUBLE, month STRING) PARTITIONED BY (month);
INSERT INTO trips VALUES (1, 2.5, 'april'), (2, 7.0, 'may'), (3, 1.5, 'may');

CALL sys.copy(source_table => 'trips', target_table => 'trips_of_may', where => "month = 'may'", dry_run => true);
CALL sys.copy(source_table => 'trips', target_table => 'trips_of_may', where => "month = 'may'");
-- The copy is independent of its source.
DELETE FROM trips WHERE id = 2;
SELECT * FROM trips_of_may ORDER BY id;

-- A table of Spark's own catalog.
CREATE DATABASE IF NOT EXISTS spark_catalog.plain;
CREATE TABLE spark_catalog.plain.rides (id INT, city STRING) USING parquet PARTITIONED BY (city);
INSERT INTO spark_catalog.plain.rides VALUES (1, 'Oslo'), (2, 'Bergen');
CALL sys.migrate_table(source_type => 'hive', table => 'plain.rides', target_table => 'rides', dry_run => true);
DROP TABLE IF EXISTS rides;
CALL sys.migrate_table(source_type => 'hive', table => 'plain.rides', target_table => 'rides');
SELECT * FROM rides ORDER BY id;
UPDATE rides SET city = 'Bodø' WHERE id = 2;
SELECT city, count(*) FROM rides GROUP BY city ORDER BY city;
