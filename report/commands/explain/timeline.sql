-- What a picture shows. ?1: the process; ?2, ?3: the end and the start of the window.

-- name: threads
-- ?4: the other thread, which may be another process's. An unfinished call ends where the window does.
SELECT thread, start_ns, duration_ns, name FROM calls
WHERE (process = ?1 OR thread = ?4) AND start_ns < ?2 AND start_ns + duration_ns > ?3
UNION ALL SELECT thread, start_ns, max(0, ?2 - start_ns), name FROM in_flight WHERE process = ?1 AND start_ns < ?2
UNION ALL SELECT thread, start_ns, duration_ns, coalesce(name, 'host function') FROM host_functions
WHERE process = ?1 AND start_ns < ?2 AND start_ns + duration_ns > ?3;

-- name: streams
SELECT device, cupti_context, cupti_stream, start_ns, duration_ns, name FROM gpu_ops
WHERE process = ?1 AND start_ns < ?2 AND start_ns + duration_ns > ?3;
