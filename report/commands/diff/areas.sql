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

-- define: error_ns
-- Of what nobody looked at, and of waits, the time itself is known.
gv_root(total(CASE WHEN what NOT IN ('host-code', 'unknown', 'waits') THEN 1.0 * error_ns * error_ns END))

-- define: ledger_by(name)
SELECT phase || ' ' || what || {name}, {sum(total_ns)}, {error_ns},
    CASE phase WHEN 'main' THEN coalesce((SELECT sum(steps) FROM lane), 0) ELSE 0 END

-- name: findings
SELECT {finding_name}, {sum(lost_ns)}, {error_ns}, sum(steps)
FROM findings WHERE key IS NOT NULL GROUP BY rtrim(key), phase;

-- name: ledger
{ledger_by('')} FROM ledger GROUP BY phase, what;

-- name: ledger_lines
{ledger_by(' ' || {line_of(place)})} FROM (SELECT *, nullif(gv_line(function, NULL, file, line), '') AS place FROM ledger)
WHERE place IS NOT NULL GROUP BY phase, what, {line_of(place)};

-- name: run_times
SELECT 'run', max(coalesce(end_ns, {fact(last_ns)})) - min(start_ns) FROM processes
UNION ALL SELECT 'one step', {sum(main_end_ns - main_ns)} / sum(steps) FROM lane GROUP BY '' HAVING sum(steps) > 0
UNION ALL SELECT 'starting CUDA', {fact(start_ns)}
UNION ALL SELECT 'loading code', {fact(loading_ns)}
UNION ALL SELECT 'stalled', {sum(wait_ns + jit_ns)} FROM stalls WHERE NOT expected
UNION ALL SELECT 'requested waits', {fact(sync_ns)} WHERE NOT EXISTS (SELECT 1 FROM in_flight WHERE class = 'sync');

-- name: run_counts
SELECT 'steps', sum(steps) FROM lane GROUP BY '' HAVING sum(steps) > 0
UNION ALL SELECT 'calls', {fact(calls)}
UNION ALL SELECT 'launches', {fact(launch_calls)} - {fact(captured_launches)}
UNION ALL SELECT 'loads', {fact(loads)}
UNION ALL SELECT 'stalls', count(*) FROM stalls WHERE NOT expected
UNION ALL SELECT 'failed calls', {sum(count)} FROM error_total
UNION ALL SELECT 'calls that had not returned', count(*) FROM in_flight
UNION ALL SELECT 'lost records', {sum(count)} FROM losses;

-- name: run_gpu
SELECT 'compiling', {fact(compiling_ns)};

-- name: run_gpu_times
-- Their standard errors are about the same.
SELECT 'GPU busy', {fact(gpu_busy_ns)}, {fact(gpu_busy_error_ns)}
UNION ALL SELECT 'computing', {fact(gpu_kernel_ns)}, {fact(gpu_busy_error_ns)}
UNION ALL SELECT 'copying', {fact(gpu_copy_ns)}, {fact(gpu_busy_error_ns)};

-- name: run_gpu_counts
SELECT 'kernels run', {sum(count)} FROM kernel_total
UNION ALL SELECT 'different kernels', count(*) FROM kernel_total
UNION ALL SELECT 'graphs run', {fact(graphs)}
UNION ALL SELECT 'devices used', count(*) FROM device_total
UNION ALL SELECT 'copies between host and device', {sum(count)} FROM copy_total WHERE copy_kind & 15 BETWEEN 1 AND 4;

-- name: run_bytes
SELECT 'copied between host and device', {sum(bytes)} FROM copy_total WHERE copy_kind & 15 BETWEEN 1 AND 4;

-- name: stalls
{stalls_by_cause(<>)};

-- name: stalls_of_gpu
-- CUPTI alone tells of the driver's compiler.
{stalls_by_cause(=)};

-- name: loads
{loads_of_kind(<>)};

-- name: loads_of_gpu
{loads_of_kind(=)};

-- name: kernels
SELECT name, {sum(total_ns)}, {sum(count)}, total(error_ns)
FROM (SELECT name, total_ns, count, 0 AS error_ns FROM kernel_total UNION ALL SELECT name, total_ns, count, error_ns FROM scaled
        WHERE kind = 'kernel') GROUP BY name;

-- name: gpu_lines
SELECT coalesce({line_of(place)}, 'unknown line'), {sum(gpu_ns)},
    gv_root(total(error * error)) * (SELECT total(gpu_ns) FROM gpu_lines)
FROM (SELECT *, gv_line(function, library, file, line) AS place FROM gpu_lines) GROUP BY 1;

-- name: launches
SELECT gv_demangle(k.name), {sum(l.total_ns)}, {sum(l.count)}
FROM launch_total l LEFT JOIN kernel k ON k.id = l.kernel GROUP BY 1;

-- name: copies
SELECT CASE t.copy_kind WHEN -1 THEN 'memset' ELSE coalesce(k.name, 'copy') END, {sum(t.total_ns)},
    {sum(t.bytes)}, {sum(t.count)}
FROM copy_total t LEFT JOIN copy_kind k ON k.id = t.copy_kind & 15 GROUP BY 1;

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
