-- name: idle_fields
SELECT id, process, device, thread, start_ns, duration_ns, gap, gaps, reason, detail, samples, confidence, previous_call, next_call
FROM idle WHERE id = ?1;

-- name: idle_all
-- Of idle time ?1: all for its reason at its line.
SELECT CAST(total(i.duration_ns) AS INTEGER), sum(i.gaps)
FROM idle i JOIN idle o ON o.id = ?1 LEFT JOIN stack_place p ON p.stack = i.stack LEFT JOIN stack_place q ON q.stack = o.stack
WHERE i.reason = o.reason AND p.place IS q.place;
