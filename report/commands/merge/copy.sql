-- How the rows of a trace are copied. main: the job, with the schema of a trace. source: the trace.

-- name: tables
SELECT name FROM main.sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY rowid;

-- name: same_process
SELECT count(*) FROM source.process s JOIN main.process m ON m.identity = s.identity;

-- name: lacking
SELECT count(*) FROM source.process WHERE identity NOT IN (SELECT identity FROM main.process);

-- name: share_api
DROP TABLE IF EXISTS temp.shared_api;
CREATE TEMP TABLE shared_api (old INTEGER PRIMARY KEY, new INTEGER);
INSERT INTO main.api (name, class)
SELECT name, class FROM source.api s
WHERE NOT EXISTS (SELECT 1 FROM main.api m WHERE m.name = s.name AND m.class = s.class)
GROUP BY name, class ORDER BY min(id);
INSERT INTO temp.shared_api SELECT s.id, m.id FROM source.api s JOIN main.api m ON m.name = s.name AND m.class = s.class;

-- name: no_host_stacks
-- Traces of early versions have no host functions.
DROP TABLE IF EXISTS temp.host_stack;
CREATE TEMP TABLE host_stack (id INTEGER PRIMARY KEY);

-- name: host_stacks
INSERT OR IGNORE INTO temp.host_stack
SELECT s.id FROM source.host_function h JOIN source.stack s ON s.process = h.process AND s.number = h.stack;

-- name: share_stacks
-- ?1: what is added to the ids of stacks. Equal frames are one stack; but a host function's stack is known by its process
-- and number.
CREATE TEMP TABLE IF NOT EXISTS known_stack (content TEXT PRIMARY KEY, stack INTEGER) WITHOUT ROWID;
DROP TABLE IF EXISTS temp.stack_content;
CREATE TEMP TABLE stack_content (stack INTEGER PRIMARY KEY, content TEXT);
INSERT INTO temp.stack_content
SELECT stack, group_concat(depth || quote(kind) || quote(function) || quote(library) || quote(file) || quote(line)
    || quote(address), ';')
FROM (SELECT * FROM source.frame ORDER BY stack, depth)
WHERE stack NOT IN (SELECT id FROM temp.host_stack)
GROUP BY stack;
INSERT OR IGNORE INTO temp.known_stack SELECT content, stack + ?1 FROM temp.stack_content;
DROP TABLE IF EXISTS temp.shared_stack;
CREATE TEMP TABLE shared_stack (old INTEGER PRIMARY KEY, new INTEGER);
INSERT INTO temp.shared_stack SELECT c.stack, k.stack FROM temp.stack_content c JOIN temp.known_stack k ON k.content = c.content;
INSERT OR IGNORE INTO temp.shared_stack SELECT id, id + ?1 FROM source.stack;
DROP TABLE temp.stack_content;

-- name: is_same
-- Whether the ids of calls are those of the job.
SELECT NOT EXISTS (SELECT 1 FROM temp.shared_api WHERE old <> new);

-- name: copy_meta
-- The first trace that says it counts.
INSERT OR IGNORE INTO main.meta (key, value)
SELECT key, value FROM source.meta WHERE key IN ('program', 'arguments', 'directory', 'machine', 'host', 'driver_version',
    'clock', 'graphs', 'watchdog_ns', 'stall_threshold_ns', 'gpuverify_version');
