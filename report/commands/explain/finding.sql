-- What a finding is made of. ?1: its id.

-- define: line_of(place)
gv_line({place}.function, {place}.library, {place}.file, {place}.line)

-- define: own_place(of)
-- Of the same function of the program.
({of} = f.place OR {of} IN (SELECT q.id FROM place p JOIN place q ON q.file IS p.file AND q.function IS p.function
    WHERE p.id = f.place AND p.function IS NOT NULL))

-- define: is_of_finding(r)
({r}.process = f.process AND {r}.device IS f.device AND {r}.phase = f.phase AND CASE
    WHEN f.what = 'waits' THEN {own_place({r}.claimed)}
    ELSE {r}.claimed IS NULL AND {r}.what = f.what AND (f.place IS {r}.place OR {own_place({r}.place)}) END)

-- name: finding
-- The stack is that of its largest row; of a wait, one of its line. Without a stall of its own: the longest at its
-- line.
SELECT f.id, f.what, CASE f.phase WHEN 0 THEN 'start' WHEN 1 THEN 'main' ELSE 'end' END, f.lost_ns, f.saves_ns,
    f.lost_ns * 1.0 / nullif(f.phase_ns, 0), f.steps, f.count, f.error_ns, f.confidence, {line_of(p)}, f.title, f.fix,
    CASE WHEN f.what = 'waits' THEN (SELECT min(stack) FROM stack_place WHERE place = f.place)
        ELSE (SELECT r.stack FROM ledger_row r WHERE {is_of_finding(r)} ORDER BY r.total_ns DESC LIMIT 1) END,
    coalesce(f.stall, (SELECT s.id FROM stalls s JOIN stack_place x ON x.stack = s.stack
        WHERE NOT s.expected AND s.process = f.process AND {own_place(x.place)} AND (f.what = 'waits' OR s.cause = f.what)
        ORDER BY s.wait_ns + s.jit_ns DESC LIMIT 1), (SELECT s.id FROM stalls s
        WHERE NOT s.expected AND s.process = f.process AND f.place IS NULL AND s.cause = f.what ORDER BY s.wait_ns + s.jit_ns DESC LIMIT 1)),
    f.idle, f.afterwards, f.times
FROM finding f LEFT JOIN place p ON p.id = f.place
WHERE f.id = ?1;

-- name: rows
SELECT r.what, sum(r.total_ns) AS total_ns, {line_of(p)} AS line,
    CASE WHEN r.claimed IS NOT NULL THEN coalesce({line_of(c)}, '?') END AS claimed_by
FROM finding f JOIN ledger_row r ON {is_of_finding(r)}
    LEFT JOIN place p ON p.id = r.place LEFT JOIN place c ON c.id = r.claimed
WHERE f.id = ?1 GROUP BY r.what, r.place, r.claimed ORDER BY total_ns DESC LIMIT 12;

-- name: fix
SELECT coalesce(nullif(f.fix, ''), (SELECT advice FROM stalls WHERE id = f.stall)) FROM finding f WHERE f.id = ?1;
