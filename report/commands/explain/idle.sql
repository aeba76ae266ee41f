-- name: idle_fields
SELECT id, process, device, thread, start_ns, duration_ns, gap, gaps, reason, detail, samples, confidence, previous_call, next_call
FROM idle WHERE id = ?1;

-- name: idle_all
-- Of idle time ?1: all of its device for its reason at its line.
SELECT CAST(total(i.duration_ns) AS INTEGER), sum(i.gaps)
FROM idle i JOIN idle o ON o.id = ?1 LEFT JOIN stack_place p ON p.stack = i.stack LEFT JOIN stack_place q ON q.stack = o.stack
WHERE i.process = o.process AND i.device IS o.device AND i.reason = o.reason AND p.place IS q.place;

-- name: idle_fix
-- What the finding says that idle time ?1 shows, or is a part of.
SELECT coalesce(nullif(f.fix, ''), (SELECT advice FROM stalls WHERE id = f.stall)) AS words
FROM idle_time i JOIN lane l ON l.process = i.process AND l.device IS i.device LEFT JOIN stack_place x ON x.stack = i.stack
    JOIN finding f ON f.process = i.process AND f.device IS i.device AND f.saves_ns NOT NULL
        AND f.phase = CASE WHEN i.start_ns < l.main_ns THEN 0 WHEN i.start_ns < l.main_end_ns THEN 1 ELSE 2 END
        AND (f.idle = i.id OR (f.what = i.reason AND f.place IS x.place))
WHERE i.id = ?1 AND words NOT NULL ORDER BY f.idle = i.id DESC, f.id LIMIT 1;
