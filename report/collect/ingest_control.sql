-- Stopping and going on. ?1 is the process.

-- define: never
9223372036854775807

-- define: spans
-- The times between two changes.
SELECT number & 1 AS stopped, at_ns, lead(at_ns, 1, {never}) OVER (ORDER BY number) AS until_ns
FROM recording_change WHERE process = ?1

-- name: merge
-- What the recorder said while recording was stopped comes later, or not at all after a short stop.
DELETE FROM gpu_change WHERE process = ?1;
WITH span AS ({spans}),
change AS (
    SELECT at_ns, gpu, profiler FROM gpu_note n WHERE process = ?1
        AND NOT EXISTS (SELECT 1 FROM span WHERE stopped AND n.at_ns BETWEEN at_ns AND until_ns - 1)
    UNION ALL SELECT at_ns, CASE WHEN stopped THEN 'stopped' ELSE coalesce((SELECT gpu FROM gpu_note
                WHERE process = ?1 AND at_ns < span.at_ns ORDER BY at_ns DESC LIMIT 1), 'seen') END,
        CASE WHEN NOT stopped THEN (SELECT profiler FROM gpu_note
            WHERE process = ?1 AND at_ns < span.at_ns ORDER BY at_ns DESC LIMIT 1) END
    FROM span)
INSERT OR REPLACE INTO gpu_change (process, at_ns, gpu, profiler)
SELECT ?1, at_ns, gpu, profiler
FROM (SELECT *, lag(gpu || coalesce(profiler, ''), 1, 'seen') OVER (ORDER BY at_ns) AS before
    FROM change)
WHERE gpu || coalesce(profiler, '') <> before;

-- name: drop_unrecorded
-- CUPTI may go on for some time after a stop.
DELETE FROM gpu_op WHERE call IS NULL AND place IN (SELECT id FROM gpu_place WHERE process = ?1)
    AND EXISTS (SELECT 1 FROM ({spans}) s WHERE s.stopped AND gpu_op.start_ns >= s.at_ns
        AND gpu_op.start_ns < s.until_ns);
