-- What only a page asks of a trace.

-- name: accounts
-- Where the time of a device of a process went. ?1: the process; ?2: the device, or -1.
SELECT CASE r.phase WHEN 0 THEN 'start' WHEN 1 THEN 'main' ELSE 'end' END, r.what, gv_line(p.function, p.library, p.file, p.line),
    sum(r.total_ns) AS total_ns, sum(r.total_ns) * 1.0 / sum(sum(r.total_ns)) OVER (PARTITION BY r.phase), sum(r.count),
    gv_line(c.function, c.library, c.file, c.line), min(r.confidence)
FROM ledger_row r LEFT JOIN place p ON p.id = r.place LEFT JOIN place c ON c.id = r.claimed
WHERE r.process = ?1 AND coalesce(r.device, -1) = ?2
GROUP BY r.phase, r.what, r.place, r.claimed ORDER BY total_ns DESC LIMIT 200;
