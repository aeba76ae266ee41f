-- Stacks with their weights: stack, the stack that captured the graph, leaf, nanoseconds, samples.

-- define: sum(what)
CAST(total({what}) AS INTEGER)

-- name: gpu
SELECT g.stack, g.capture,
    CASE g.kind WHEN 1 THEN coalesce(gv_kernel(n.name), 'kernel')
        WHEN 2 THEN 'copy ' || coalesce(k.name, '') WHEN 3 THEN 'memset' ELSE 'graph' END AS leaf,
    {sum(g.gpu_ns)}, {sum(g.samples)}
FROM gpu_stack g LEFT JOIN gpu_name n ON n.id = g.name AND g.kind = 1
    LEFT JOIN copy_kind k ON k.id = g.copy_kind & 15
WHERE g.gpu_ns > 0 GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;

-- name: idle
SELECT stack, NULL, reason, {sum(duration_ns)}, {sum(samples)}
FROM idle WHERE duration_ns > 0 GROUP BY 1, 3 ORDER BY 1, 3;

-- name: stalls
SELECT stack, NULL, cause || coalesce(': ' || name, '') AS leaf, {sum(wait_ns + jit_ns)}, 0
FROM stalls WHERE NOT expected AND wait_ns + jit_ns > 0 GROUP BY 1, 3 ORDER BY 1, 3;

-- name: frames
-- Of the stack ?1, outermost first, down from main() and without CUDA's own and the C library's.
-- The last column is an enum gv_flame_kind.
SELECT function, library, file, line, address,
    CASE WHEN kind = 'python' THEN {in_package(file)}
        WHEN file IS NULL OR {in_package(library)} THEN 2 ELSE 0 END
FROM (SELECT * FROM frames WHERE stack = ?1 AND NOT {is_system(kind, library)}
    AND (kind = 'python' OR depth <= coalesce((SELECT max(depth) FROM frames
        WHERE stack = ?1 AND kind <> 'python' AND function = 'main'), depth))
    ORDER BY depth LIMIT 256)
ORDER BY depth DESC;
