-- Object tables: the files of a folder as rows. Run it from the project's folder.
DROP TABLE IF EXISTS examples;
CREATE TABLE examples WITH ('type' = 'object-table', 'object-location' = 'sql_examples');
CALL sys.refresh_object_table('examples');

-- What are they, and how much is it?
SELECT regexp_extract(name, '[.]([^.]+)$', 1) AS kind, count(*) AS files, sum(length) > 0 AS filled
FROM examples GROUP BY 1 ORDER BY 1;
SELECT path FROM examples WHERE path LIKE 'data/%' ORDER BY path;

-- A refresh that finds nothing new makes no snapshot.
CALL sys.refresh_object_table(table => 'examples', dry_run => true);
SELECT snapshot_id, total_record_count > 0 AS holds_files FROM examples$snapshots;
SELECT count(*) > 0 AS found FROM examples /*+ OPTIONS('scan.snapshot-id' = '1') */;
