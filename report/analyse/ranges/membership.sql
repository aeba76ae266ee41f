-- What decides which ranges a call is in.

-- name: ranges
-- The columns are those of enum range_column.
SELECT id, thread, kind, start_ns, coalesce(start_ns + duration_ns, 9223372036854775807), parent
FROM range WHERE kind IN (1, 2);

-- name: pushers
-- Of each process: how many threads push, and one of them.
SELECT t.process, count(*), min(r.thread)
FROM (SELECT DISTINCT thread FROM range WHERE kind = 1) r JOIN thread t ON t.id = r.thread
GROUP BY t.process;

-- name: starts
SELECT t.process, r.id FROM range r JOIN thread t ON t.id = r.thread
WHERE r.kind = 2 ORDER BY t.process, r.start_ns, r.id;

-- name: changes
-- ?1: thread, ?2: the last call that is known, ?3: how many
SELECT call, range FROM call_range WHERE thread = ?1 AND call > ?2 ORDER BY call LIMIT ?3;
