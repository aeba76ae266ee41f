-- name: rows
-- ?1 to ?7 are a struct gv_idle_filter, the columns those that take_row() reads. Queries views row by row: a join would compute them
-- whole.
SELECT i.id, i.process, (SELECT pid FROM processes WHERE id = i.process), coalesce(i.device, -1),
    i.thread, (SELECT tid FROM threads WHERE id = i.thread), i.start_ns, i.duration_ns, i.gap, i.gaps,
    i.samples, i.stack, i.previous_call, i.next_call, i.reason, i.detail, i.confidence,
    (SELECT name FROM calls WHERE id = i.previous_call),
    (SELECT name FROM calls WHERE id = i.next_call),
    (SELECT kernel FROM calls WHERE id = i.next_call),
    (SELECT name FROM threads WHERE id = i.thread)
FROM idle i
WHERE (?1 IS NULL OR instr(?1, ' ' || i.reason || ' ') OR ?1 IN (' start ', ' end ') AND EXISTS (SELECT 1 FROM lane l
        WHERE l.process = i.process AND l.device IS i.device
            AND CASE ?1 WHEN ' start ' THEN i.start_ns < l.main_ns ELSE i.start_ns >= l.main_end_ns END))
    AND i.duration_ns >= ?2 AND (?3 = 0 OR i.id = ?3)
    AND (?4 = 0 OR i.process IN (SELECT id FROM processes WHERE pid = ?4))
    AND (?5 = 0 OR i.thread IN (SELECT id FROM threads WHERE tid = ?5))
    AND (?6 < 0 OR i.device IS NULL OR i.device = ?6)
ORDER BY CASE WHEN ?7 THEN 0 ELSE i.duration_ns END DESC, i.start_ns, i.id;
