-- What is true of a run.

-- name: add
INSERT INTO run_fact (process, name, detail) VALUES (nullif(?1, 0), ?2, ?3);
