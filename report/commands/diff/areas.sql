-- What two runs are compared by: the queries of areas.def. A row is a thing: its name, then its columns.

-- define: sum(what)
CAST(total({what}) AS INTEGER)

-- define: fact(key)
(SELECT value FROM fact WHERE key = '{key}')

-- define: without_folder(path)
-- The same program may lie in another folder.
replace({path}, rtrim({path}, replace({path}, '/', '')), '')

-- define: stalls_by_cause(which)
SELECT cause, {sum(wait_ns + jit_ns)}, count(*) FROM stalls
WHERE NOT expected AND cause {which} 'jit' GROUP BY cause

-- define: loads_of_kind(which)
SELECT kind || coalesce(' ' || CASE kind WHEN 'file' THEN {without_folder(name)}
        ELSE gv_demangle(coalesce(name, kernel)) END, '')
    || coalesce(' of ' || {without_folder(library)}, ''), {sum(duration_ns)}, count(*)
FROM loads WHERE kind {which} 'lazy' GROUP BY 1

-- define: name_of_range
-- A mark may be called what a range is.
CASE kind WHEN 3 THEN 'mark ' ELSE '' END || coalesce(domain || ': ', '') || coalesce(text, '?')

-- name: stalls
{stalls_by_cause(<>)};

-- name: stalls_of_gpu
-- CUPTI alone tells of the driver's compiler.
{stalls_by_cause(=)};

-- name: idle
-- The detail without a line: a command, a file.
SELECT reason || coalesce(' ' || {line_of(place)}, ' ' || detail, ''), {sum(duration_ns)}
FROM (SELECT *, nullif(gv_where(stack), '') AS place FROM idle) GROUP BY 1;

-- name: loads
{loads_of_kind(<>)};

-- name: loads_of_gpu
{loads_of_kind(=)};

-- name: kernels
SELECT k.name, {sum(k.total_ns)}, {sum(k.count)}, total(t.error_ns)
FROM kernel_total k LEFT JOIN scaled_total t ON t.kind = 1 AND t.number = k.rank GROUP BY k.name;

-- name: gpu_lines
SELECT coalesce({line_of(place)}, 'unknown line'), {sum(gpu_ns)},
    gv_root(total(error * error)) * (SELECT total(gpu_ns) FROM gpu_lines)
FROM (SELECT *, gv_line(function, library, file, line) AS place FROM gpu_lines) GROUP BY 1;

-- name: launches
SELECT gv_demangle(k.name), {sum(l.total_ns)}, {sum(l.count)}
FROM launch_total l LEFT JOIN kernel k ON k.id = l.kernel GROUP BY 1;

-- name: copies
SELECT CASE t.copy_kind WHEN -1 THEN 'memset' ELSE coalesce(k.name, 'copy') END, {sum(t.total_ns)},
    {sum(t.bytes)}, {sum(t.count)}, total(e.error_ns)
FROM copy_total t LEFT JOIN copy_kind k ON k.id = t.copy_kind & 15
    LEFT JOIN scaled_total e ON e.kind IN (2, 3) AND e.number = t.copy_kind GROUP BY 1;

-- name: calls
SELECT a.name, {sum(t.total_ns)}, {sum(t.count)}
FROM api_total t JOIN api a ON a.id = t.api GROUP BY a.name;

-- name: errors
SELECT a.name, {sum(t.errors)}
FROM api_total t JOIN api a ON a.id = t.api WHERE t.errors > 0 GROUP BY a.name;

-- name: memory_peak
SELECT 'peak', {fact(memory_peak_bytes)} WHERE {fact(memory_known)};

-- name: memory_left
SELECT 'never freed', {fact(memory_left_bytes)} WHERE {fact(memory_known)};

-- name: memory_lines
SELECT space || ' ' || coalesce({line_of(place)}, name || ' without a stack'), {sum(at_peak_bytes)}
FROM (SELECT *, gv_line(function, library, file, line) AS place FROM memory_lines)
GROUP BY 1 HAVING sum(at_peak_bytes) > 0;

-- name: ranges
-- Of a range without an end the time is not known.
SELECT {name_of_range}, {sum(total_ns)}, {sum(count)}, {sum(count - unended)} FROM range_total GROUP BY 1;

-- name: range_gpu
SELECT {name_of_range}, {sum(gpu_ns)}, {sum(count)} FROM range_total GROUP BY 1;

-- name: range_stalls
SELECT {name_of_range}, {sum(stall_ns)}, {sum(stalls)}, {sum(count)} FROM range_total GROUP BY 1;

-- name: range_idle
-- Of a range without an end it is not known.
SELECT {name_of_range}, {sum(idle_ns)}, {sum(count - unended)} FROM range_total GROUP BY 1;

-- name: range_loads
SELECT {name_of_range}, {sum(load_ns)}, {sum(loads)}, {sum(count)} FROM range_total GROUP BY 1;

-- name: range_memory
SELECT {name_of_range}, {sum(allocated_bytes)}, {sum(allocations)}, {sum(count)} FROM range_total GROUP BY 1;
