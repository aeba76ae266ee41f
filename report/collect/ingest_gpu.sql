-- What the end of a process looks for in its GPU side. ?1 is the process.

-- name: misnamed
-- Operations whose name is not that of their launch, after ?2, when the process first unloaded code. One without times had
-- not ended when the process did.
CREATE TEMP TABLE misnamed AS
SELECT o.id AS op, o.shape AS shape, k.name AS name
FROM gpu_op o JOIN call c ON c.id = o.call JOIN kernel k ON k.id = c.kernel
    JOIN gpu_shape s ON s.id = o.shape JOIN gpu_name n ON n.id = s.name
WHERE o.kind = 1 AND o.graph_node IS NULL AND (o.start_ns > ?2 OR o.start_ns IS NULL)
    AND o.place IN (SELECT id FROM gpu_place WHERE process = ?1) AND k.name <> n.linkage;
CREATE INDEX temp.misnamed_op ON misnamed (op);

-- name: unnamed
SELECT DISTINCT name FROM temp.misnamed
WHERE name NOT IN (SELECT linkage FROM gpu_name WHERE process = ?1 AND linkage IS NOT NULL);

-- define: is_same_shape
-- The other columns of a shape are the same in x and s.
x.process = s.process AND x.name = r.name AND (x.grid_x, x.grid_y, x.grid_z, x.block_x, x.block_y,
    x.block_z, x.registers, x.static_shared_bytes, x.dynamic_shared_bytes, x.local_bytes) =
    (s.grid_x, s.grid_y, s.grid_z, s.block_x, s.block_y, s.block_z, s.registers,
    s.static_shared_bytes, s.dynamic_shared_bytes, s.local_bytes)

-- name: rename
-- Gives each of them the shape that has its launch's name. The program's own numbers are above 0.
CREATE TEMP TABLE renamed AS
SELECT DISTINCT m.shape AS shape, m.name AS text,
    (SELECT min(id) FROM gpu_name WHERE process = ?1 AND linkage = m.name) AS name
FROM temp.misnamed m;
INSERT INTO gpu_shape (process, number, name, grid_x, grid_y, grid_z, block_x, block_y, block_z,
    registers, static_shared_bytes, dynamic_shared_bytes, local_bytes)
SELECT DISTINCT s.process, (SELECT min(0, min(number)) FROM gpu_shape) - r.rowid, r.name, s.grid_x,
    s.grid_y, s.grid_z, s.block_x, s.block_y, s.block_z, s.registers, s.static_shared_bytes,
    s.dynamic_shared_bytes, s.local_bytes
FROM temp.renamed r JOIN gpu_shape s ON s.id = r.shape
WHERE NOT EXISTS (SELECT 1 FROM gpu_shape x WHERE {is_same_shape});
CREATE TEMP TABLE named_shape AS
SELECT r.shape AS shape, r.text AS text, min(x.id) AS id
FROM temp.renamed r JOIN gpu_shape s ON s.id = r.shape JOIN gpu_shape x ON {is_same_shape}
GROUP BY 1, 2;
CREATE INDEX temp.named_shape_index ON named_shape (shape, text);
UPDATE gpu_op SET shape = (SELECT z.id FROM temp.misnamed m
    JOIN temp.named_shape z ON z.shape = m.shape AND z.text = m.name WHERE m.op = gpu_op.id)
WHERE id IN (SELECT op FROM temp.misnamed);
DROP TABLE temp.renamed;
DROP TABLE temp.named_shape;
DROP TABLE temp.misnamed;

-- name: match_late
-- What was given up, or stored by an earlier collector, and never met its call.
CREATE TEMP TABLE late AS
SELECT c.correlation AS correlation, max(c.id) AS call
FROM call c JOIN thread t ON t.id = c.thread
WHERE t.process = ?1 AND c.correlation IN (SELECT correlation FROM gpu_op
    UNION SELECT correlation FROM gpu_sample UNION SELECT correlation FROM jit UNION SELECT correlation FROM gpu_module)
GROUP BY 1;
CREATE UNIQUE INDEX temp.late_index ON late (correlation);
UPDATE gpu_op SET call = late.call, correlation = NULL FROM late
WHERE gpu_op.correlation = late.correlation
    AND gpu_op.place IN (SELECT id FROM gpu_place WHERE process = ?1);
UPDATE gpu_sample SET call = late.call, correlation = NULL FROM late
WHERE gpu_sample.correlation = late.correlation AND gpu_sample.process = ?1;
UPDATE jit SET call = late.call, correlation = NULL FROM late
WHERE jit.correlation = late.correlation AND jit.process = ?1;
UPDATE gpu_module SET call = late.call, correlation = NULL FROM late
WHERE gpu_module.correlation = late.correlation AND gpu_module.process = ?1;
DROP TABLE temp.late;
