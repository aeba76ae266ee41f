-- What the estimate of GPU time by line reads and writes.

-- name: version
SELECT value FROM main.meta WHERE key = 'lines'
    AND EXISTS (SELECT 1 FROM main.meta WHERE key = 'state' AND value = 'complete');

-- name: add_all
-- ?1 to ?4: a struct gv_totals_part
INSERT INTO gpu_stack (process, stack, kind, name, copy_kind, gpu_ns, launches, samples, queued_ns)
SELECT p.process, s.stack, o.kind, n.name, o.copy_kind, sum(o.duration_ns), count(DISTINCT o.call),
    count(DISTINCT CASE WHEN s.call NOT IN (SELECT call FROM call_stack_of_other) THEN s.call END),
    sum(o.start_ns - c.start_ns)
FROM gpu_op o JOIN gpu_place p ON p.id = o.place LEFT JOIN call c ON c.id = o.call
    LEFT JOIN call_stack s ON s.call = o.call LEFT JOIN gpu_shape n ON n.id = o.shape
WHERE o.duration_ns >= 0 AND {in_part(p.process, c.thread, o.start_ns)}
GROUP BY 1, 2, 3, 4, 5;

-- name: stacks
SELECT DISTINCT stack FROM gpu_stack WHERE stack IS NOT NULL;

-- name: add_lines
INSERT INTO gpu_line (place, capture, gpu_ns, error_ns, launches, samples, queued_ns, idle_ns)
SELECT p.place, c.place, sum(gpu_ns), 0, sum(launches), sum(samples), sum(queued_ns), sum(idle_ns)
FROM gpu_stack s LEFT JOIN stack_place p ON p.stack = s.stack
    LEFT JOIN stack_place c ON c.stack = s.capture
GROUP BY 1, 2;
