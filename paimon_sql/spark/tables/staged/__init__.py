"""Tables made together with their rows: CREATE TABLE AS SELECT and REPLACE TABLE."""
