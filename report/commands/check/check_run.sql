-- Why the outcome of a rule is unknown.

-- define: runs
SELECT NULL, 'process ' || pid || ' still runs' FROM processes
WHERE ended IS NULL AND (SELECT value FROM meta WHERE key = 'state') IS NOT 'complete'

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
