-- What an anonymised copy asks of its tables, and of the names that were given.

-- name: tables
SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY rowid;

-- name: new_names
-- "given" is UNIQUE, so that two names of one kind never get the same replacement.
CREATE TABLE name (kind INTEGER, original TEXT, given TEXT, PRIMARY KEY (kind, original), UNIQUE (kind, given))
    WITHOUT ROWID;

-- name: find_name
SELECT given FROM name WHERE kind = ?1 AND original = ?2;

-- name: add_name
INSERT OR IGNORE INTO name (kind, original, given) VALUES (?1, ?2, ?3);

-- name: complete
SELECT 1 FROM meta WHERE key = 'state' AND value = 'complete';

-- name: finish
-- What the analysis found was brought up to date when the trace was opened.
INSERT OR REPLACE INTO meta (key, value)
VALUES ('schema_version', ?1), ('stalls', ?2), ('totals', ?3), ('anonymised', 1);

-- name: flying
SELECT DISTINCT process FROM flight;
