-- Blobs: large values in files of their own, which queries of other columns never open.

CREATE TABLE photos (
  id INT,
  title STRING,
  picture BINARY COMMENT '__BLOB_FIELD; as it was taken',
  pages ARRAY<BINARY> COMMENT '__BLOB_FIELD',
  parts MAP<STRING, BINARY> COMMENT '__BLOB_FIELD'
) TBLPROPERTIES ('row-tracking.enabled' = 'true', 'data-evolution.enabled' = 'true', 'deletion-vectors.enabled' = 'true');

INSERT INTO photos VALUES
  (1, 'sea', X'89504E47', array(X'01', NULL, X'02'), map('head', X'0A')),
  (2, 'wood', NULL, NULL, NULL),
  (3, 'town', X'', array(), map());

SELECT id, title FROM photos ORDER BY id;
SELECT id, hex(picture), size(pages), hex(parts['head']) FROM photos WHERE id = 1;
SELECT file_path, write_cols, record_count, first_row_id FROM photos$files;

-- Only changed blobs are written.
UPDATE photos SET picture = X'FFD8' WHERE id = 2;
MERGE INTO photos p USING (SELECT 3 AS id, X'00FF' AS picture UNION ALL SELECT 4, X'77') s ON p.id = s.id
WHEN MATCHED THEN UPDATE SET picture = s.picture
WHEN NOT MATCHED THEN INSERT (id, picture) VALUES (s.id, s.picture);
DELETE FROM photos WHERE id = 1;
CALL sys.compact(table => 'photos', options => 'compaction.min.file-num=2,blob-compaction.enabled=true');
SELECT id, title, hex(picture) FROM photos ORDER BY id;

-- Where they lie, and copies that are made from there: reads give descriptors and writes take them where both ask.
SELECT id, sys.descriptor_to_string(picture) FROM photos /*+ OPTIONS('blob-as-descriptor' = 'true') */ ORDER BY id;
CREATE TABLE copies (id INT, picture BINARY)
TBLPROPERTIES ('row-tracking.enabled' = 'true', 'data-evolution.enabled' = 'true', 'blob-field' = 'picture');
INSERT INTO copies /*+ OPTIONS('blob-as-descriptor' = 'true') */
SELECT id, picture FROM photos /*+ OPTIONS('blob-as-descriptor' = 'true') */;
SELECT id, hex(picture) FROM copies ORDER BY id;

-- Another table that refers to them.
CREATE TABLE albums (id INT, photo BINARY)
TBLPROPERTIES ('row-tracking.enabled' = 'true', 'data-evolution.enabled' = 'true', 'blob-view-field' = 'photo');
INSERT INTO albums SELECT id, sys.blob_view('default.photos', 'picture', _ROW_ID) FROM photos;
SELECT id, hex(photo) FROM albums ORDER BY id;
