-- Files that nobody needs, manifests that are too many, metadata that was damaged, and a fresh start.
DROP TABLE IF EXISTS visits;
CREATE TABLE visits (id INT, day STRING) PARTITIONED BY (day);
INSERT INTO visits VALUES (1, 'mon'), (2, 'tue');
INSERT INTO visits VALUES (3, 'tue');
INSERT OVERWRITE visits PARTITION (day = 'mon') VALUES (4);

-- What a rollback takes back stays on disk until the search for orphan files finds it, after a day or at a time of yours.
CALL sys.rollback(table => 'visits', version => '2');
CALL sys.remove_orphan_files(table => 'visits', dry_run => true);
CALL sys.remove_orphan_files(table => 'visits', older_than => '2024-01-31 08:00:00', parallelism => 4, mode => 'local');
CALL sys.remove_orphan_files(table => 'default.*', dry_run => true);

-- Data files that somebody deleted by hand: a row each. There is none here.
CALL sys.remove_unexisting_files(table => 'visits', dry_run => true);

-- One manifest instead of many, its entries sorted by the partition.
INSERT OVERWRITE visits VALUES (5, 'wed'), (6, 'thu');
SELECT count(*) AS manifests, sum(num_deleted_files) AS deleted FROM visits$manifests;
CALL sys.compact_manifest(table => 'visits', manifest_sort_enabled => true);
SELECT count(*) AS manifests, sum(num_deleted_files) AS deleted FROM visits$manifests;

-- Hints and metadata looked through; files that a loss of power has torn are set aside, and the answer says what is lost.
CALL sys.repair(database_or_table => 'default.visits', dry_run => true);
CALL sys.repair(database_or_table => 'default.visits');
CALL sys.repair_earliest_snapshot(table => 'visits', snapshot_id => 1);

-- Nothing is left but the table.
CALL sys.purge_files(table => 'visits', dry_run => true);
CALL sys.purge_files(table => 'visits');
SELECT count(*) AS rows_left FROM visits;
SELECT count(*) AS snapshots FROM visits$snapshots;
