-- What the collector does with a fold (keep_fold.sql). ?1: the end of the folded time.

-- name: store
-- ?2: the call before which all are folded.
INSERT OR IGNORE INTO main.older_name (text) SELECT DISTINCT coalesce(name, '?') FROM result.minute;
INSERT INTO main.older (minute, process, what, name, count, total_ns, max_ns, bytes)
SELECT m.minute, coalesce(m.process, 0), w.id, n.id, m.count, m.total_ns, m.max_ns, m.bytes
FROM result.minute m JOIN main.minute_what w ON w.name = m.what
    JOIN main.older_name n ON n.text = coalesce(m.name, '?')
WHERE true
ON CONFLICT (minute, process, what, name) DO UPDATE SET count = coalesce(count + excluded.count, count, excluded.count),
    total_ns = coalesce(total_ns + excluded.total_ns, total_ns, excluded.total_ns),
    max_ns = coalesce(max(max_ns, excluded.max_ns), max_ns, excluded.max_ns),
    bytes = coalesce(bytes + excluded.bytes, bytes, excluded.bytes);
INSERT INTO main.older_ledger SELECT * FROM result.older_ledger;
DELETE FROM main.older_ledger WHERE minute < (SELECT value FROM result.fact WHERE key = 'older_from');
DELETE FROM main.older WHERE minute < (SELECT value FROM result.fact WHERE key = 'older_from');
INSERT INTO main.older_stall (process, thread, api, kernel, start_ns, duration_ns, cause, wait_ns, work_ns,
    jit_ns, confidence, stack, advice)
SELECT process, thread, api, kernel, start_ns, duration_ns, cause, wait_ns, work_ns, jit_ns, confidence, stack,
    advice
FROM result.older_stall ORDER BY start_ns;
DELETE FROM main.older_stall WHERE (SELECT count(*) FROM main.older_stall) > 20000
    AND id NOT IN (SELECT id FROM main.older_stall ORDER BY id DESC LIMIT 10000)
    AND id NOT IN (SELECT id FROM main.older_stall ORDER BY wait_ns + jit_ns DESC LIMIT 10000);
DELETE FROM main.older_row;
INSERT INTO main.older_row SELECT what, id FROM result.older_row;
DELETE FROM main.frame WHERE kind <> 'python' AND stack IN (SELECT stack FROM result.frame);
INSERT INTO main.frame SELECT * FROM result.frame;
INSERT OR REPLACE INTO main.meta (key, value) VALUES ('full_from_ns', ?1), ('full_from_call', ?2);

-- name: stop
-- To reports, the folded time counts as stopped. Changes of that time are one.
DROP TABLE IF EXISTS temp.kept;
CREATE TEMP TABLE kept AS
SELECT id AS process, start_ns, end_ns,
    coalesce(end_ns > ?1, 1) AND coalesce((SELECT number & 1 = 0
        FROM main.recording_change WHERE process = p.id AND at_ns <= ?1 ORDER BY number DESC LIMIT 1), 1) AS goes_on,
    EXISTS (SELECT 1 FROM main.gpu_interval WHERE process = p.id AND start_ns < ?1) AS has_gpu,
    (SELECT gpu FROM main.gpu_change WHERE process = p.id AND at_ns <= ?1 ORDER BY at_ns DESC LIMIT 1) AS gpu,
    (SELECT profiler FROM main.gpu_change WHERE process = p.id AND at_ns <= ?1 ORDER BY at_ns DESC LIMIT 1) AS profiler
FROM main.process p WHERE start_ns < ?1;
DELETE FROM main.recording_change WHERE (number <= 0 OR at_ns <= ?1) AND process IN (SELECT process FROM temp.kept);
INSERT INTO main.recording_change SELECT process, -1, start_ns FROM temp.kept
UNION ALL SELECT process, 0, ?1 FROM temp.kept WHERE goes_on;
DELETE FROM main.gpu_change WHERE at_ns <= ?1 AND process IN (SELECT process FROM temp.kept);
INSERT OR IGNORE INTO main.gpu_change (process, at_ns, gpu, profiler)
SELECT process, start_ns, 'stopped', NULL FROM temp.kept WHERE has_gpu
UNION ALL SELECT process, ?1, coalesce(gpu, 'seen'), profiler FROM temp.kept WHERE has_gpu AND goes_on;
DELETE FROM main.gpu_note WHERE EXISTS (SELECT 1 FROM main.gpu_note n WHERE n.process = gpu_note.process
    AND n.at_ns > gpu_note.at_ns AND n.at_ns <= ?1);
DROP TABLE temp.kept;

-- name: calls_next
SELECT coalesce(min(id), 0) FROM main.call WHERE id > ?1;

-- name: sweep_calls
-- Rows ?2 to ?3, of those that began before ?1.
DELETE FROM main.call WHERE id BETWEEN ?2 AND ?3 AND start_ns < ?1
    AND id NOT IN (SELECT id FROM main.older_row WHERE what = 1);
DELETE FROM main.collective WHERE call BETWEEN ?2 AND ?3 AND NOT EXISTS (SELECT 1 FROM main.call WHERE id = collective.call);

-- name: ops_next
SELECT coalesce(min(id), 0) FROM main.gpu_op WHERE id > ?1;

-- name: sweep_ops
DELETE FROM main.gpu_op WHERE id BETWEEN ?2 AND ?3
    AND (start_ns + coalesce(duration_ns, 0) < ?1 OR start_ns IS NULL AND NOT EXISTS (SELECT 1 FROM main.call WHERE id = gpu_op.call))
    AND id NOT IN (SELECT id FROM main.older_row WHERE what = 2);

-- name: sweep_others
-- After the calls.
DELETE FROM main.gpu_sample WHERE start_ns + duration_ns < ?1;
DELETE FROM main.jit WHERE start_ns < ?1;
DELETE FROM main.overhead WHERE start_ns < ?1;
DELETE FROM main.host_function WHERE start_ns + duration_ns < ?1;
DELETE FROM main.idle_sample_cpu WHERE sample IN (SELECT id FROM main.idle_sample WHERE at_ns < ?1);
DELETE FROM main.idle_sample WHERE at_ns < ?1;
DELETE FROM main.sample_gpm WHERE sample IN (SELECT id FROM main.sample WHERE at_ns < ?1);
DELETE FROM main.sample WHERE at_ns < ?1;
DELETE FROM main.load WHERE start_ns < ?1 AND NOT EXISTS (SELECT 1 FROM main.call WHERE id = load.call);
DELETE FROM main.gpu_module WHERE at_ns < ?1 AND NOT EXISTS (SELECT 1 FROM main.call WHERE id = gpu_module.call);
DELETE FROM main.range WHERE start_ns + duration_ns < ?1;
-- "step 123456" is the text of one range. Those with a number may be used again.
DELETE FROM main.range_text WHERE number IS NULL AND id NOT IN (SELECT text FROM main.range WHERE text IS NOT NULL
    UNION SELECT domain FROM main.range WHERE domain IS NOT NULL
    UNION SELECT category_name FROM main.range WHERE category_name IS NOT NULL);
DELETE FROM main.call_range WHERE EXISTS (SELECT 1 FROM main.call_range n WHERE n.thread = call_range.thread
    AND n.call > call_range.call AND n.call <= (SELECT min(id) FROM main.call WHERE start_ns >= ?1));
