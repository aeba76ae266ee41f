-- What a merge reads of each trace, and writes into the job.

-- name: facts
-- Of an open trace.
SELECT (SELECT value FROM meta WHERE key = 'unix_offset_ns'), (SELECT min(start_ns) FROM process),
    max(coalesce((SELECT max(end_ns) FROM process), 0), coalesce((SELECT start_ns + duration_ns FROM call ORDER BY id DESC LIMIT 1), 0)),
    (SELECT value FROM meta WHERE key = 'state') IS 'complete', (SELECT value FROM meta WHERE key = 'stalls'),
    (SELECT value FROM meta WHERE key = 'stall_threshold_ns'),
    (SELECT user_version FROM pragma_user_version), EXISTS (SELECT 1 FROM meta WHERE key = 'full_from_ns'),
    (SELECT count(*) FROM process), coalesce((SELECT host FROM process_rank WHERE host IS NOT NULL LIMIT 1),
        (SELECT value FROM meta WHERE key = 'host')), (SELECT job FROM process_rank WHERE job IS NOT NULL LIMIT 1);

-- name: begin_meta
-- ?1: the schema's version; ?2: Unix time of the job's time 0; ?3: how many traces.
INSERT OR REPLACE INTO main.meta (key, value)
VALUES ('schema_version', ?1), ('unix_offset_ns', ?2), ('start_unix_ns', ?2), ('state', 'complete'), ('merged', ?3);

-- name: add_clock
-- ?4: the error; -1: not known.
INSERT INTO main.clock (id, offset_ns, drift_ppb, error_ns, matched, trace, host, method)
VALUES (?1, ?2, ?3, nullif(?4, -1), ?5, ?6, ?7, ?8);

-- name: add_processes
-- ?1: the clock; ?2: the last process before.
INSERT INTO main.process_clock (process, clock) SELECT id, ?1 FROM main.process WHERE id > ?2;

-- name: rank_hosts
-- Traces before schema 13 know the host only of all.
INSERT INTO main.process_rank (process, host)
SELECT p.process, c.host FROM main.process_clock p JOIN main.clock c ON c.id = p.clock
WHERE c.host IS NOT NULL AND p.process NOT IN (SELECT process FROM main.process_rank);

-- name: holding
-- The trace whose process the attached one has too.
SELECT c.trace FROM source.process s JOIN main.process m ON m.identity = s.identity
    JOIN main.process_clock p ON p.process = m.id JOIN main.clock c ON c.id = p.clock LIMIT 1;

-- name: rank_twice
SELECT r.rank, min(c.trace), max(c.trace)
FROM main.process_rank r JOIN main.process_clock p ON p.process = r.process JOIN main.clock c ON c.id = p.clock
WHERE r.rank IS NOT NULL GROUP BY r.rank, r.job HAVING count(DISTINCT c.id) > 1 ORDER BY r.rank LIMIT 1;

-- name: shares_machine
-- Whether processes of several traces ran on one machine.
SELECT EXISTS (SELECT 1 FROM main.clock GROUP BY host HAVING host IS NOT NULL AND count(*) > 1);

-- name: known_processes
-- What NVML listed as processes outside of one trace, and is in another one.
DELETE FROM main.other_process WHERE EXISTS (SELECT 1 FROM main.process p JOIN main.device d ON d.process = p.id
    WHERE p.pid = other_process.pid AND d.uuid = other_process.uuid);
DELETE FROM main.other_process_memory WHERE other NOT IN (SELECT id FROM main.other_process);

-- name: finish
-- ?1, ?2: versions of the analyses whose results were copied.
INSERT OR REPLACE INTO main.meta (key, value) VALUES ('stalls', ?1);
