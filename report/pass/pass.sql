-- What a pass reads. ?2: the pass, which takes the rows.

-- name: calls
SELECT gv_take_call(id, start_ns, duration_ns, thread, api, kernel, stream, context, result, bytes, object, ?2)
FROM call;

-- name: stacks
SELECT 0, s.call, s.stack, x.one_of, o.call IS NOT NULL FROM call_stack s LEFT JOIN call_sample x ON x.call = s.call
    LEFT JOIN call_stack_of_other o ON o.call = s.call
ORDER BY s.call;

-- name: folds
SELECT 0, call, count, span_ns FROM call_fold ORDER BY call;

-- name: nodes
-- Those that are clones have the stack of what they were made of, also while the trace is written. A longer chain means damage.
WITH RECURSIVE up(process, node, original, stack, depth) AS (
    SELECT process, node, original, stack, 0 FROM graph_node
    UNION ALL SELECT u.process, u.node, n.original, n.stack, u.depth + 1
    FROM up u JOIN graph_node n ON n.process = u.process AND n.node = u.original WHERE u.depth < 8)
SELECT process, node, stack FROM up WHERE original IS NULL AND stack IS NOT NULL;

-- name: operations
SELECT gv_take_operation(id, start_ns, duration_ns, call, place, shape, kind, copy_kind, bytes, graph_node,
    {op_is_of_thread}, ?2)
FROM gpu_op;
