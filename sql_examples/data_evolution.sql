-- Data evolution: columns that change are written beside the others, which stay where they are.

CREATE TABLE photos (id INT, title STRING, score DOUBLE)
TBLPROPERTIES ('row-tracking.enabled' = 'true', 'data-evolution.enabled' = 'true', 'deletion-vectors.enabled' = 'true');

INSERT INTO photos VALUES (1, 'sea', 0.5), (2, 'wood', 0.7), (3, 'town', 0.1);

-- One file more, which holds the column score and nothing else.
UPDATE photos SET score = score * 2 WHERE id < 3;
SELECT record_count, null_value_counts FROM photos$files;

-- A column that came later is filled without a look at the others.
ALTER TABLE photos ADD COLUMN tag STRING;
MERGE INTO photos p USING (SELECT 3 AS id, 'city' AS tag UNION ALL SELECT 4, 'lake') s ON p.id = s.id
WHEN MATCHED THEN UPDATE SET tag = s.tag
WHEN NOT MATCHED THEN INSERT (id, tag) VALUES (s.id, s.tag);

SELECT *, _ROW_ID FROM photos ORDER BY id;
SELECT title FROM photos WHERE _ROW_ID = 1;

-- Rows keep their ids in compactions; deleted ones go for good when they are asked to.
DELETE FROM photos WHERE id = 2;
CALL sys.compact(table => 'photos', options => 'compaction.min.file-num=2');
CALL sys.materialize_deletion_vectors(table => 'photos');
SELECT *, _ROW_ID FROM photos ORDER BY id;

-- Partitions that were written in turns get ids that follow one another.
CREATE TABLE visits (id INT, day STRING) PARTITIONED BY (day)
TBLPROPERTIES ('row-tracking.enabled' = 'true', 'data-evolution.enabled' = 'true');
INSERT INTO visits VALUES (1, 'mon');
INSERT INTO visits VALUES (2, 'tue');
INSERT INTO visits VALUES (3, 'mon');
CALL sys.reassign_row_id(table => 'visits');
SELECT *, _ROW_ID FROM visits ORDER BY id;

-- Vectors in files of their own, which queries of other columns do not open.
CREATE TABLE pictures (id INT, embedding ARRAY<FLOAT>) TBLPROPERTIES (
    'row-tracking.enabled' = 'true', 'data-evolution.enabled' = 'true', 'vector-field' = 'embedding',
    'field.embedding.vector-dim' = '3', 'vector.file.format' = 'parquet');
INSERT INTO pictures VALUES (1, array(0.5, 0.25, 1.0)), (2, array(0.0, 1.0, 0.0));
SELECT id, embedding[0] FROM pictures ORDER BY id;
SELECT record_count, write_cols FROM pictures$files ORDER BY ALL;
