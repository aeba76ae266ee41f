-- define: is_wanted
-- ?1 to ?5 are a struct gv_stall_filter.
(?1 IS NULL OR s.cause = ?1) AND s.wait_ns + s.jit_ns >= ?2 AND (s.expected = 0 OR ?3)
    AND (?4 = 0 OR s.id = ?4) AND (?5 = 0 OR s.blocked_by = ?5)

-- define: profiler_at(at)
(SELECT CASE WHEN gpu IN ('other', 'operations') THEN coalesce(profiler, 'another profiler') END FROM gpu_change
    WHERE process = s.process AND at_ns <= {at} ORDER BY at_ns DESC LIMIT 1)

-- name: count
SELECT count(*) FROM stalls s WHERE {is_wanted};

-- name: rows
-- The columns are those that take_row() reads. Queries views row by row: a join would compute them
-- whole.
SELECT s.id, s.call, s.start_ns, s.duration_ns, s.wait_ns, s.work_ns, s.jit_ns, s.waited_for,
    s.blocked_by, s.drained_count, s.drained_ns, s.process, s.thread, s.stack,
    (SELECT start_ns + duration_ns FROM gpu_ops WHERE id = s.waited_for),
    (SELECT thread FROM calls WHERE id = s.blocked_by),
    (SELECT stack FROM calls WHERE id = s.blocked_by), y.id, s.other_pid, s.host_function,
    (SELECT duration_ns FROM host_functions WHERE id = s.host_function),
    (SELECT start_ns + duration_ns FROM host_functions WHERE id = s.host_function),
    (SELECT c.stack FROM host_functions h JOIN calls c ON c.id = h.call WHERE h.id = s.host_function),
    s.expected, {is_unsure_ptx(s)}, s.own_stack = 0,
    s.cause, s.confidence, s.advice, s.name, s.kernel,
    (SELECT name FROM gpu_ops WHERE id = s.waited_for),
    (SELECT name FROM calls WHERE id = s.blocked_by), s.other_name, s.other_did,
    (SELECT name FROM host_functions WHERE id = s.host_function),
    CASE s.confidence WHEN 'inferred' THEN
        coalesce({profiler_at(s.start_ns)}, {profiler_at(s.start_ns + s.duration_ns)}) END
FROM stalls s LEFT JOIN stall y ON y.call = s.blocked_by WHERE {is_wanted}
ORDER BY s.cause = 'unknown', s.wait_ns + s.jit_ns DESC, s.id LIMIT ?6;
