-- name: arrows
-- What the calls of stalls waited for: the stall, the kind of its track and the track's number, start, duration.
SELECT s.id, 'stream', o.place, o.start_ns, o.duration_ns
FROM stalls s CROSS JOIN gpu_op o ON o.id = s.waited_for WHERE NOT s.expected AND o.start_ns IS NOT NULL
UNION ALL SELECT s.id, 'thread', c.thread, c.start_ns, c.duration_ns
FROM stalls s CROSS JOIN calls c ON c.id = s.blocked_by WHERE NOT s.expected
LIMIT 50000;
