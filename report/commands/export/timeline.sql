-- Slices of the page's timeline: process, two numbers that tell tracks of a kind apart, name, class, start,
-- duration, id, link, how many it stands for, time of these together. NULL: 0; of a count 1; of the last: the
-- duration. A duration that is NULL lasts until the end.

-- name: idle
-- When those were that stand for several is not known.
SELECT process, coalesce(device, -1), 0, reason, 'idle', start_ns, duration_ns, id, next_call FROM idle
WHERE gap IS NOT NULL;

-- name: ops
SELECT process, device, cupti_stream, name, kind, start_ns, duration_ns, id, call FROM gpu_ops
WHERE start_ns IS NOT NULL;

-- name: stalls
SELECT process, thread, 0, cause, 'stall', start_ns, duration_ns, id, call FROM stalls WHERE NOT expected;

-- name: calls
SELECT process, thread, 0, name, class, start_ns, span_ns, id, NULL, count, duration_ns FROM calls;

-- name: unfinished
SELECT process, thread, 0, name || ' (did not return)', class, start_ns, elapsed_ns FROM in_flight;

-- name: ranges
SELECT process, thread, CASE WHEN kind = 'push' THEN min(depth, 15) ELSE 16 END,
    coalesce(domain || ': ', '') || coalesce(message, ''), kind, start_ns, duration_ns, id
FROM ranges;

-- name: steps
SELECT process, thread, series, coalesce(message, 'step'), 'step', start_ns, duration_ns, number FROM steps;

-- name: arrows
-- What the calls of stalls waited for: the stall, the track's kind (0: an operation, 1: a call) and numbers,
-- start, duration.
SELECT s.id, 0, o.process, o.device, o.cupti_stream, o.start_ns, o.duration_ns
FROM stalls s CROSS JOIN gpu_ops o ON o.id = s.waited_for WHERE NOT s.expected
UNION ALL SELECT s.id, 1, c.process, c.thread, 0, c.start_ns, c.duration_ns
FROM stalls s CROSS JOIN calls c ON c.id = s.blocked_by WHERE NOT s.expected
LIMIT 50000;

-- name: words
-- Of a track: its process, and its thread.
SELECT (SELECT coalesce(program || ' ', '') || pid FROM processes WHERE id = ?1),
    (SELECT coalesce(name || ' ', '') || tid FROM threads WHERE id = ?2);
