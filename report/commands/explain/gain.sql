-- name: next_wait
-- The first requested wait of the thread ?1 from ?2 on, and where the operation ran that it waited
-- for.
SELECT s.name, s.start_ns, s.duration_ns, o.place
FROM stalls s JOIN gpu_op o ON o.id = s.waited_for
WHERE s.thread = ?1 AND s.expected AND s.wait_ns > 0 AND s.start_ns >= ?2
ORDER BY s.start_ns LIMIT 1;

-- name: operations
-- What a stream, the place ?1, did from ?2 to ?3; whether it is the operation ?4.
SELECT max(start_ns, ?2), min(start_ns + duration_ns, ?3), id = ?4 FROM gpu_op
WHERE place = ?1 AND start_ns < ?3 AND start_ns + duration_ns > ?2 ORDER BY start_ns;

-- name: next_call
-- The thread's call after the call ?1; whether it soon waits for the same stream: within ?2.
SELECT a.name, a.class = 'sync' AND n.stream = c.stream
    AND n.start_ns - c.start_ns - c.duration_ns < ?2
FROM call c JOIN call n ON n.thread = c.thread AND n.id > c.id JOIN api a ON a.id = n.api
WHERE c.id = ?1 ORDER BY n.id LIMIT 1;
