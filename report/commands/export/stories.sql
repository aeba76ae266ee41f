-- The findings, and the calls of a thread around one call.

-- name: findings
SELECT f.id, gv_line(p.function, p.library, p.file, p.line) FROM finding f LEFT JOIN place p ON p.id = f.place ORDER BY f.id LIMIT 200;

-- define: near
SELECT name, gv_kernel((SELECT k.name FROM kernels k WHERE k.id = calls.kernel_id)), start_ns, duration_ns, id

-- name: before
{near} FROM calls WHERE id BETWEEN ?1 - 2000 AND ?1 - 1 AND thread = (SELECT thread FROM call WHERE id = ?1)
ORDER BY id DESC LIMIT 3;

-- name: after
{near} FROM calls WHERE id BETWEEN ?1 + 1 AND ?1 + 2000 AND thread = (SELECT thread FROM call WHERE id = ?1)
ORDER BY id LIMIT 3;

-- name: itself
{near} FROM calls WHERE id = ?1;
