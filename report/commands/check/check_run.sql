-- Why the outcome of a rule is unknown, and the calls in ranges.

-- define: runs
SELECT NULL, words FROM {running}

-- name: running
{runs} LIMIT 1;

-- name: unseen
SELECT NULL, 'the GPU side of process ' || pid || ' was not recorded: ' || coalesce(gpu_why, gpu)
FROM processes WHERE gpu <> 'cupti' ORDER BY id LIMIT 1;

-- name: missing
SELECT NULL, 'of what the GPU did for process ' || pid || ', ' || printf('%d %s missing', count,
    CASE count WHEN 1 THEN 'record is' ELSE 'records are' END)
FROM (SELECT process, sum(count) AS count FROM losses WHERE what LIKE 'GPU %' OR what = 'record'
    GROUP BY process) l
    JOIN processes p ON p.id = l.process
WHERE count > 0
UNION {runs}
UNION ALL SELECT NULL, coalesce(max(profiler), 'another profiler') || ' had the GPU side of process '
    || pid || ' for a time'
FROM recording r JOIN processes p ON p.id = r.process WHERE r.gpu = 'other' GROUP BY p.id
UNION ALL SELECT NULL, 'what the GPU did at the end is not known: an operation had not ended'
FROM fact WHERE key = 'untimed_operations' AND value > 0
LIMIT 1;

-- name: between
SELECT NULL, 'the GPU side of process ' || pid || ' was seen in windows only' FROM processes
WHERE id IN (SELECT process FROM gpu_change WHERE gpu = 'between') ORDER BY id LIMIT 1;

-- name: any_mark
SELECT 0, '' FROM ranges WHERE gv_range_is(:range, domain, message) LIMIT 1;

-- name: any_range
SELECT 0, '' FROM ranges WHERE kind <> 'mark' AND gv_range_is(:range, domain, message) LIMIT 1;

-- name: long_call
-- A row for each range that a call is in. call: 1 << 63 less 1: one that has not returned.
DROP TABLE IF EXISTS temp.long_call;
CREATE TEMP TABLE long_call (call INTEGER, thread INTEGER, start_ns INTEGER, range INTEGER);

-- name: long_calls
SELECT id, thread, start_ns FROM call WHERE duration_ns > ?1
UNION ALL SELECT 9223372036854775807, thread, start_ns FROM in_flight WHERE thread IS NOT NULL
ORDER BY 1, 3;
