-- Stopping and going on. ?1 is the process.

-- define: never
9223372036854775807

-- define: spans(first)
-- The times between two changes.
SELECT number & 1 AS stopped, at_ns, lead(at_ns, 1, {never}) OVER (ORDER BY number) AS until_ns
FROM recording_change WHERE process = ?1 AND number >= {first}

-- define: last_before
-- The last change before ?2.
coalesce((SELECT number FROM recording_change WHERE process = ?1 AND at_ns < ?2
    ORDER BY number DESC LIMIT 1), -1)

-- name: merge
-- From ?2 on. What the recorder said while recording was stopped comes later, or not at all after a
-- short stop.
DELETE FROM gpu_change WHERE process = ?1 AND at_ns >= ?2;
WITH span AS ({spans({last_before})}),
change AS (
    SELECT at_ns, gpu, profiler FROM gpu_note n WHERE process = ?1 AND at_ns >= ?2
        AND NOT EXISTS (SELECT 1 FROM span WHERE stopped AND n.at_ns BETWEEN at_ns AND until_ns - 1)
    UNION ALL SELECT at_ns, CASE WHEN stopped THEN 'stopped' ELSE coalesce((SELECT gpu FROM gpu_note
                WHERE process = ?1 AND at_ns < span.at_ns ORDER BY at_ns DESC LIMIT 1), 'seen') END,
        CASE WHEN NOT stopped THEN (SELECT profiler FROM gpu_note
            WHERE process = ?1 AND at_ns < span.at_ns ORDER BY at_ns DESC LIMIT 1) END
    FROM span WHERE at_ns >= ?2)
INSERT OR REPLACE INTO gpu_change (process, at_ns, gpu, profiler)
SELECT ?1, at_ns, gpu, profiler
FROM (SELECT *, lag(gpu || coalesce(profiler, ''), 1, coalesce((SELECT gpu || coalesce(profiler, '')
        FROM gpu_change WHERE process = ?1 AND at_ns < ?2 ORDER BY at_ns DESC LIMIT 1), 'seen'))
        OVER (ORDER BY at_ns) AS before
    FROM change)
WHERE gpu || coalesce(profiler, '') <> before;

-- name: drop_unrecorded
-- CUPTI goes on while recording is stopped, and its records are dropped only once its thread has seen the stop. When
-- it leaves for another profiler, it gives what still runs, without times.
DROP TABLE IF EXISTS temp.span;
CREATE TEMP TABLE span (at_ns INTEGER PRIMARY KEY, until_ns INTEGER);
INSERT INTO temp.span SELECT at_ns, until_ns
FROM (SELECT gpu, at_ns, lead(at_ns, 1, {never}) OVER (ORDER BY at_ns) AS until_ns
    FROM gpu_change WHERE process = ?1)
WHERE gpu = 'stopped';
DELETE FROM gpu_op WHERE EXISTS (SELECT 1 FROM temp.span)
    AND place IN (SELECT id FROM gpu_place WHERE process = ?1)
    AND CASE WHEN start_ns IS NOT NULL THEN call IS NULL AND start_ns < (SELECT until_ns FROM temp.span
            WHERE at_ns <= gpu_op.start_ns ORDER BY at_ns DESC LIMIT 1)
        ELSE call IS NULL OR (SELECT start_ns FROM call WHERE id = gpu_op.call)
            <= (SELECT max(at_ns) FROM temp.span) END;
DROP TABLE temp.span;
