-- What gpuverify top reads again and again. Rows are found by their id.

-- name: LAST
-- The newest rows.
SELECT coalesce((SELECT max(id) FROM call), 0), coalesce((SELECT max(id) FROM gpu_op), 0),
    coalesce((SELECT max(id) FROM idle_sample), 0), coalesce((SELECT max(id) FROM sample), 0);

-- name: CALL_AT
SELECT id, start_ns FROM call WHERE id >= ?1 ORDER BY id LIMIT 1;

-- name: OP_AT
SELECT id, start_ns FROM gpu_op WHERE id >= ?1 ORDER BY id LIMIT 1;

-- name: CALLS
SELECT id, class, start_ns, duration_ns, bytes, name, stack, result, thread, count FROM calls
WHERE id > ?1 AND id <= ?2 ORDER BY id LIMIT ?3;

-- name: OPS
SELECT id, kind, name, process, device, start_ns, duration_ns, call,
    CASE WHEN graph_node IS NOT NULL THEN 'graph' WHEN kind = 'kernel' THEN linkage_name ELSE kind END
FROM gpu_ops
WHERE id > ?1 AND id <= ?2 ORDER BY id LIMIT ?3;

-- name: STACKS
-- Calls that have one: those that took long, and those chosen at random for all that launch. The last column is
-- what it launches, in the same words as OPS.
SELECT cs.call, cs.stack, sa.one_of, c.start_ns, c.duration_ns, c.name, c.class, c.result,
    coalesce(c.kernel, CASE WHEN c.class IN ('copy', 'set') THEN c.class ELSE 'graph' END)
FROM call_stack cs JOIN calls c ON c.id = cs.call
    LEFT JOIN call_sample sa ON sa.call = cs.call
WHERE cs.call > ?1 AND cs.call <= ?2 ORDER BY cs.call LIMIT ?3;

-- name: THREAD_OF
SELECT thread FROM call WHERE id = ?1;

-- name: THREAD
SELECT tid, name FROM threads WHERE id = ?1;

-- name: SAMPLES
SELECT id, uuid, at_ns, gpu_percent, memory_used_bytes, power_mw, sm_clock_mhz, temperature_c
FROM samples WHERE id > ?1 AND id <= ?2 ORDER BY id;

-- name: DEVICE
SELECT uuid, name FROM devices WHERE process = ?1 AND device = ?2;

-- name: DEVICE_NAME
SELECT name FROM devices WHERE uuid = ?1 LIMIT 1;

-- name: FACTS
SELECT (SELECT coalesce(sum(count), 0) FROM losses), (SELECT count(*) FROM processes WHERE ended IS NULL),
    (SELECT max(gpu_flushed_ns) FROM process), (SELECT value = 'complete' FROM meta WHERE key = 'state'),
    (SELECT count(*) FROM processes WHERE gpu = 'cupti'), (SELECT count(*) FROM processes),
    (SELECT max(coalesce(end_ns, start_ns)) FROM processes);

-- name: ROOT
-- The first process that used CUDA.
SELECT program, pid, gpu_why FROM processes ORDER BY id LIMIT 1;

-- name: UNSEEN
-- Why the newest process's GPU side is not, or not always, seen now; NULL: it is.
SELECT CASE
    WHEN (SELECT number % 2 FROM recording_change WHERE process = p.id ORDER BY number DESC LIMIT 1)
        THEN 'recording is stopped'
    WHEN EXISTS (SELECT 1 FROM gpu_window WHERE process = p.id) THEN 'seen in windows only'
    ELSE (SELECT CASE gpu WHEN 'seen' THEN NULL WHEN 'between' THEN 'seen in windows only'
            WHEN 'stopped' THEN 'recording is stopped' ELSE 'another profiler has it' END
        FROM gpu_change WHERE process = p.id ORDER BY at_ns DESC LIMIT 1) END
FROM (SELECT max(id) AS id FROM process) p;

-- name: UNSEEN_PART
-- Whether GPU work of a part of a time was not seen. It was at its beginning.
SELECT EXISTS (SELECT 1 FROM process p CROSS JOIN gpu_change g ON g.process = p.id AND g.at_ns BETWEEN ?1 AND ?2
        AND g.gpu NOT IN ('seen', 'operations'));
