-- name: next
-- The next process of which operations are missing, or may be: ?1 is the one before.
SELECT min(id) FROM process
WHERE id > ?1 AND gpu = 'cupti' AND (ended IS NULL OR id IN (SELECT process FROM loss
    WHERE what = 'GPU operation' AND class = 'last flush' AND count > 0));

-- name: unseen
-- When the first missing operation of the process ?1 was launched, and since when it can have run.
-- What was launched before the GPU's side was on is not missing, nor are graphs of which each node
-- is recorded, as in report/collect/ingest_gpu.c; only what is behind the last operation that was
-- seen of its stream. Operations of a stream run in their order: the first that is missing did not
-- begin before the last one seen had ended.
WITH seen AS (
    SELECT c.stream AS stream, max(c.start_ns) AS last_ns, max(o.start_ns + o.duration_ns) AS end_ns
    FROM gpu_op o JOIN call c ON c.id = o.call JOIN thread t ON t.id = c.thread
    WHERE t.process = ?1 GROUP BY 1)
SELECT min(c.start_ns), min(max(c.start_ns, coalesce(s.end_ns, c.start_ns)))
FROM call c JOIN thread t ON t.id = c.thread LEFT JOIN seen s ON s.stream IS c.stream
WHERE t.process = ?1 AND c.correlation IS NOT NULL AND c.result = 0
    AND coalesce(c.bytes, 1) > 0 AND c.start_ns > coalesce(s.last_ns, -1)
    AND c.start_ns >= coalesce((SELECT start_ns FROM gpu_interval WHERE process = ?1), c.start_ns)
    AND c.api IN (SELECT id FROM api WHERE gpu_work NOT IN (0, CASE WHEN EXISTS
        (SELECT 1 FROM meta WHERE key = 'graphs' AND value = 'nodes') THEN 2 ELSE 0 END))
    -- The last capture of the stream alone: a program may capture in each of its steps.
    AND coalesce((SELECT k.end_ns FROM temp.capture k WHERE k.stream = c.stream
        AND k.start_ns <= c.start_ns ORDER BY k.start_ns DESC LIMIT 1) < c.start_ns, 1);
