-- What the estimate of a GPU side that was seen in windows reads and writes.

-- name: processes
-- With the start of the GPU side. ?1: the process; 0: all.
SELECT p.id, coalesce((SELECT min(start_ns) FROM gpu_interval i WHERE i.process = p.id), p.start_ns, 0),
    coalesce(p.start_ns, 0), coalesce(p.end_ns, 9223372036854775807)
FROM process p
WHERE (?1 = 0 OR p.id = ?1)
    AND EXISTS (SELECT 1 FROM gpu_change c WHERE c.process = p.id AND c.gpu = 'between')
ORDER BY p.id;

-- name: windows
SELECT start_ns, end_ns FROM gpu_window WHERE process = ?1 ORDER BY start_ns;

-- name: kernel_names
-- Kernels with one name are alike, whichever process loaded them.
SELECT id, CASE WHEN name IS NULL THEN 0 ELSE dense_rank() OVER (ORDER BY name) END FROM kernel;

-- name: open_operations
DROP TABLE IF EXISTS temp.scaled_operation;
CREATE TEMP TABLE scaled_operation (call INTEGER, kind INTEGER, number INTEGER, device INTEGER,
    ns INTEGER, busy_ns INTEGER, own_ns INTEGER, bytes INTEGER);

-- name: add_operation
INSERT INTO temp.scaled_operation VALUES (?, ?, ?, ?, ?, ?, ?, ?);

-- name: end_operations
CREATE INDEX temp.scaled_operation_call ON scaled_operation (call);

-- name: close_operations
DROP TABLE IF EXISTS temp.scaled_operation;

-- name: calls
-- Those of the process ?1 that put work on the GPU, each with its operations, and between them those
-- that wait for it. The columns are those of enum call_column.
SELECT c.id, c.thread, c.api, c.start_ns, c.bytes, c.object, c.kernel, c.stream, a.gpu_work,
    a.gpu_work AND {is_captured(c)}, o.kind, o.number, o.device, o.ns, o.busy_ns, o.own_ns, 1, o.bytes
FROM call c JOIN api a ON a.id = c.api LEFT JOIN temp.scaled_operation o ON o.call = c.id
WHERE c.thread IN (SELECT id FROM thread WHERE process = ?1)
    AND c.api IN (SELECT id FROM api WHERE gpu_work <> 0 OR class = 'sync')
    AND coalesce(c.result, 0) = 0 AND coalesce(c.bytes, 1) > 0
ORDER BY c.id;

-- name: add_row
INSERT INTO scaled_total (kind, number, launches, seen, error_ns) VALUES (?, ?, ?, ?, ?);

-- name: add_unknown
-- A kernel, or another call: what it puts on the GPU (api.gpu_work) as kinds of operations.
INSERT INTO scaled_total (kind, kernel, api, launches, seen)
SELECT CASE gpu_work WHEN 1 THEN 1 WHEN 2 THEN 4 ELSE 2 END, nullif(?1, 0), ?2, ?3, 0 FROM api
WHERE id = ?2;
