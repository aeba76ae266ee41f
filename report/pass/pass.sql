-- What a pass reads.

-- name: calls
-- A row of polls that returned "not ready" has the sum of their durations.
SELECT id, start_ns, CASE WHEN result = 600 THEN coalesce((SELECT span_ns FROM call_fold WHERE call = call.id), duration_ns)
    ELSE duration_ns END, thread, api, kernel, stream, context, result
FROM call;

-- name: stacks
SELECT s.call, s.stack, x.one_of FROM call_stack s LEFT JOIN call_sample x ON x.call = s.call ORDER BY s.call;

-- name: operations
SELECT id, start_ns, duration_ns, coalesce(call, 0), place, shape, kind, copy_kind FROM gpu_op
WHERE start_ns IS NOT NULL AND duration_ns IS NOT NULL;
