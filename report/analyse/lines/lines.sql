-- What the estimate of GPU time by line reads and writes.

-- name: ranges
-- From which call on a thread is in which range, if a range is around the work of an autograd node.
SELECT r.thread, r.call, r.range, c.start_ns FROM call_range r JOIN call c ON c.id = r.call
WHERE EXISTS (SELECT 1 FROM range_text WHERE text GLOB 'autograd::engine::evaluate_function: *')
ORDER BY c.start_ns, r.call;

-- name: range
SELECT t.text, r.parent FROM range r LEFT JOIN range_text t ON t.id = r.text WHERE r.id = ?;

-- name: first_inside
-- The ranges of a thread that follow each other do so nearly always by their numbers, too.
SELECT t.text FROM range r JOIN range_text t ON t.id = r.text
WHERE r.id BETWEEN ?1 + 1 AND ?1 + 4 AND r.parent = ?1 ORDER BY r.id LIMIT 1;

-- name: first_chosen
-- The first call of each thread that was chosen at random.
SELECT c.thread, x.one_of, min(x.call) FROM call_sample x JOIN call c ON c.id = x.call
WHERE x.one_of > 0 GROUP BY c.thread;

-- name: captures
-- In the order of time: what begins and ends a capture, and what makes a graph, or a graph that can be
-- launched, of another one, or changes it. A trace without launches of graphs needs none of it.
SELECT t.process, c.start_ns, a.begins_capture, a.ends_capture, c.stream, c.object, o.object, s.stack
FROM {if_any(api WHERE gpu_work = 2)} call c JOIN api a ON a.id = c.api JOIN thread t ON t.id = c.thread
    LEFT JOIN call_object o ON o.call = c.id LEFT JOIN call_stack s ON s.call = c.id
WHERE c.api IN (SELECT id FROM api WHERE begins_capture OR ends_capture OR class = 'graph')
    AND coalesce(c.result, 0) = 0
    AND (a.begins_capture OR a.ends_capture OR o.object IS NOT NULL)
ORDER BY c.start_ns;

-- name: host_only
SELECT id, coalesce(gpu, '') <> 'cupti' AND id NOT IN (SELECT process FROM gpu_place) FROM process;

-- name: add_stack
INSERT INTO gpu_stack (process, stack, capture, kind, name, copy_kind, launches, samples, gpu_ns,
    queued_ns, idle_ns)
VALUES (?1, nullif(?2, 0), nullif(?3, 0), ?4, nullif(?5, 0), CASE WHEN ?4 = 2 THEN ?6 END, ?7, ?8,
    nullif(?9, -1), nullif(?10, -1), nullif(?11, -1));

-- name: add_line
INSERT INTO gpu_line (place, capture, launches, samples, gpu_ns, error_ns, queued_ns, idle_ns)
VALUES (nullif(?1, 0), nullif(?2, 0), ?3, ?4, nullif(?5, -1), nullif(?6, -1), nullif(?7, -1),
    nullif(?8, -1));
