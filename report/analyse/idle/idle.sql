-- What the analysis of idle time reads and writes.

-- define: samples
SELECT thread, at_ns, process, about, state, system_call, target, signs, pid_or_tid,
    coalesce(stack, 0), coalesce(other_stack, 0), delay_ns, cpu_ns, text
FROM idle_sample WHERE thread IS NOT NULL

-- name: samples
{samples} ORDER BY thread, at_ns, id;

-- name: samples_some
{samples} AND id > ?1 AND id <= ?2 ORDER BY thread, at_ns, id;

-- name: frames
-- CUDA's code, and ours, are known by their library.
SELECT function, coalesce(iif(kind = 'runtime', library, file), library),
    kind = 'python' AND NOT {in_package(file)} AND file NOT LIKE '<%' FROM frame
WHERE stack = ?1 ORDER BY depth;

-- name: thread_name
SELECT name FROM thread WHERE process = ?1 AND tid = ?2 ORDER BY id DESC LIMIT 1;

-- name: processes
-- When each was recorded: to its end, or to the last that is known of it.
SELECT p.id, p.start_ns, p.end_ns, coalesce(p.gpu, '') = 'cupti',
    EXISTS (SELECT 1 FROM gpu_change WHERE process = p.id AND gpu = 'between'),
    CASE WHEN p.end_ns IS NULL THEN max(coalesce(
        (SELECT max(c.start_ns + c.duration_ns) FROM call c JOIN thread t ON t.id = c.thread
            WHERE t.process = p.id), p.start_ns),
        coalesce((SELECT max(at_ns) FROM idle_sample WHERE process = p.id), p.start_ns)) END
FROM process p ORDER BY p.id;

-- name: places
SELECT id, process, device FROM gpu_place;

-- name: operations
SELECT o.place, o.start_ns, o.duration_ns, o.call FROM gpu_op o
WHERE o.start_ns IS NOT NULL AND o.duration_ns IS NOT NULL ORDER BY o.start_ns;

-- name: untimed
-- From when on operations of a process may have run that have no times.
SELECT p.process, min(max(coalesce(u.launched_ns, -9223372036854775807),
    coalesce((SELECT max(o.start_ns + o.duration_ns) FROM gpu_op o WHERE o.place = u.place
        AND o.duration_ns IS NOT NULL), -9223372036854775807)))
FROM (SELECT o.place AS place, min(c.start_ns) AS launched_ns
    FROM gpu_op o LEFT JOIN call c ON c.id = o.call
    WHERE o.start_ns IS NULL OR o.duration_ns IS NULL GROUP BY o.place) u
    JOIN gpu_place p ON p.id = u.place
GROUP BY p.process;

-- name: call
SELECT thread, api, coalesce(kernel, 0), start_ns, duration_ns FROM call WHERE id = ?1;

-- name: calls
SELECT id, thread, start_ns, CASE WHEN result = 600
    THEN coalesce((SELECT span_ns FROM call_fold WHERE call = call.id), duration_ns)
    ELSE duration_ns END
FROM call;

-- name: delay
SELECT delay_ns FROM call_delay WHERE call = ?1;

-- name: waits
-- Calls that gave the GPU work, or waited for all of it, in processes without a GPU side, or of which it
-- was seen in windows.
SELECT t.process, c.id, c.start_ns, c.duration_ns, a.gpu_work <> 0, a.kind IN ('context-sync', 'stream-sync', 'copy')
FROM call c JOIN thread t ON t.id = c.thread JOIN api a ON a.id = c.api
WHERE c.result = 0 AND (a.gpu_work <> 0 OR a.kind IN ('context-sync', 'stream-sync'))
    AND t.process IN (SELECT id FROM process WHERE coalesce(gpu, '') <> 'cupti'
        UNION SELECT process FROM gpu_change WHERE gpu = 'between')
ORDER BY c.start_ns;

-- name: version
SELECT value FROM main.meta WHERE key = 'idle'
    AND EXISTS (SELECT 1 FROM main.meta WHERE key = 'state' AND value = 'complete');

-- name: python
-- Processes that ran Python.
SELECT id, EXISTS (SELECT 1 FROM idle_sample WHERE process = process.id AND signs & 2)
    OR EXISTS (SELECT 1 FROM stack s JOIN frame f ON f.stack = s.id
        WHERE s.process = process.id AND f.kind = 'python')
FROM process;

-- name: add
-- ?14: the call that explains it.
INSERT INTO idle_time (process, device, thread, start_ns, duration_ns, gaps, reason, detail,
    samples, stack, confidence, previous_call, next_call)
VALUES (?1, CASE WHEN ?2 >= 0 THEN ?2 END, nullif(?3, 0), ?4, ?5, ?6, ?7,
    coalesce(?8, (SELECT a.name FROM call c JOIN api a ON a.id = c.api WHERE c.id = ?14)),
    ?9, coalesce(nullif(?10, 0), (SELECT stack FROM call_stack WHERE call = ?14)),
    ?11, nullif(?12, 0), nullif(?13, 0));
