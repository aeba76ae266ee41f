-- What `--range` reads.

-- name: named
-- Ranges with their names. One without an end ends with its process.
SELECT r.id, t.process, r.start_ns, coalesce(r.start_ns + r.duration_ns, p.end_ns), r.domain, r.text,
    d.text, m.text
FROM range r JOIN thread t ON t.id = r.thread LEFT JOIN process p ON p.id = t.process
    LEFT JOIN range_text d ON d.id = r.domain LEFT JOIN range_text m ON m.id = r.text
WHERE r.kind IN (1, 2);

-- name: calls
SELECT id, thread, start_ns, duration_ns FROM call ORDER BY id;
