-- Tags that a table makes by itself, tags found by time or watermark, and the end of all of them.
DROP TABLE IF EXISTS readings;
CREATE TABLE readings (sensor INT, value DOUBLE, PRIMARY KEY (sensor) NOT ENFORCED) WITH (
    'bucket' = '1',
    'tag.automatic-creation' = 'process-time',
    'tag.creation-period' = 'hourly',
    'tag.period-formatter' = 'without_dashes',
    'tag.num-retained-max' = '24',
    'tag.default-time-retained' = '7 d',
    'sink.process-time-zone' = 'UTC'
);
INSERT INTO readings VALUES (1, 20.5), (2, 21.0);
INSERT INTO readings VALUES (1, 20.7);
-- One tag, for the hour before, which lives for a week.
SELECT length(tag_name) AS length, snapshot_id, time_retained FROM readings$tags;
CALL sys.trigger_tag_automatic_creation(table => 'readings', dry_run => true);
CALL sys.trigger_tag_automatic_creation(`table` => 'readings');

-- Watermarks: a write brings one, and a tag is found by it.
INSERT INTO readings /*+ OPTIONS('end-input.watermark' = '1717200000000') */ VALUES (2, 21.3);
CALL sys.create_tag_from_watermark(table => 'readings', tag => 'june', watermark => 1717200000000);
CALL sys.create_tag_from_timestamp('readings', 'first', 0);
SELECT tag_name, snapshot_id FROM readings$tags WHERE tag_name IN ('june', 'first') ORDER BY snapshot_id;

-- A tag of each day's batch, under a name of its own.
ALTER TABLE readings SET ('tag.automatic-creation' = 'batch', 'tag.batch.customized-name' = 'last_batch');
INSERT INTO readings VALUES (3, 19.9);
INSERT INTO readings VALUES (4, 18.2);
SELECT snapshot_id FROM readings$tags WHERE tag_name = 'last_batch';

CALL sys.expire_tags(table => 'readings');
CALL sys.expire_tags(table => 'readings', older_than => '2999-01-01 00:00:00');
SELECT count(*) AS tags FROM readings$tags;
