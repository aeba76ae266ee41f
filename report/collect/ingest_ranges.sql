-- What a collector that resumes a process reads of its ranges. ?1 is the process.

-- name: open_ranges
SELECT r.id, r.thread, r.domain, r.number, r.start_ns, r.depth
FROM range r JOIN thread t ON t.id = r.thread
WHERE t.process = ?1 AND r.duration_ns IS NULL ORDER BY r.id;
