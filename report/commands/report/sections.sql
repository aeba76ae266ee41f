-- What the sections of sections.def show. Parameters are bound by gv_report_bind(). Sums are in
-- tables that were made for the part of the trace that is asked for.

-- define: meta(key)
(SELECT value FROM meta WHERE key = '{key}')

-- define: fact(key)
(SELECT value FROM fact WHERE key = '{key}')

-- define: share(part, whole)
{part} * 1.0 / nullif({whole}, 0)

-- define: is_of_process(process)
(:process = 0 OR {process} = :process)

-- define: is_in_part(process, thread, start)
{is_of_process({process})} AND (:thread = 0 OR {thread} = :thread) AND {start} >= :from
    AND {start} < :to

-- define: sum(what)
CAST(total({what}) AS INTEGER)

-- define: is_simulated
EXISTS (SELECT 1 FROM device WHERE name GLOB 'GV_SIM *')

-- name: run
SELECT {meta(program)}, {meta(arguments)},
    strftime('%Y-%m-%d %H:%M:%S', {meta(start_unix_ns)} / 1000000000, 'unixepoch', 'localtime'),
    {meta(host)},
    nullif(max(coalesce((SELECT max(end_ns) FROM process), 0), coalesce({fact(last_ns)}, 0)), 0),
    'CUDA ' || gv_version({meta(driver_version)})
        || CASE WHEN {is_simulated} THEN ', simulated' ELSE '' END,
    (SELECT count(*) FROM process WHERE {is_of_process(id)}),
    (SELECT count(*) FROM threads WHERE {is_of_process(process)} AND (:thread = 0 OR id = :thread)),
    {fact(calls)}, {fact(last_ns)} - {fact(first_ns)}, {fact(operations)},
    {share({fact(found_operations)}, {fact(operations)})};

-- name: timeline
SELECT lane, stretch * {fact(stretch_ns)}, {fact(stretch_ns)}, taken_ns FROM timeline
ORDER BY lane, stretch;

-- define: clock(ns)
strftime('%Y-%m-%d %H:%M', ({meta(start_unix_ns)} + {ns}) / 1000000000, 'unixepoch', 'localtime')

-- name: minutes
-- Idle time is of the processes' time, as in the section idle.
SELECT {clock(start_ns)}, start_ns, length_ns, time_ns, {share(window_ns, all_ns)}, {share(busy_ns, seen_ns * devices)}, {share(idle_ns, time_ns)}, idle_reason,
    {share(idle_reason_ns, time_ns)}, lost_ns, stall_cause, stall_cause_ns, longest_ns, launches
FROM minute_bucket ORDER BY start_ns;

-- name: changes
SELECT what, CASE what WHEN 'kernel' THEN gv_kernel(name)
        WHEN 'busy' THEN coalesce('GPU ' || (SELECT min(d.device) FROM device d WHERE d.uuid = minute_change.name), name) ELSE name END, {clock(at_ns)}, at_ns, before, after, before_ns, after_ns
FROM minute_change ORDER BY abs(after - before) DESC, what, name LIMIT :top;

-- name: devices
SELECT d.device, gv_device(d.name), d.cc_major || '.' || d.cc_minor, d.multiprocessors,
    d.memory_bytes, t.busy_ns,
    CASE WHEN {fact(gpu_unseen_ns)} = 0
            THEN {share(t.busy_ns, ({fact(last_ns)} - {fact(first_ns)} - {fact(stopped_ns)}))}
        WHEN (SELECT count(*) FROM device_total) = 1
            THEN {share({fact(gpu_busy_ns)}, ({fact(last_ns)} - {fact(first_ns)} - {fact(gpu_unseen_ns)}))}
    END,
    t.kernel_ns, t.copy_ns, round({share(t.copy_ns, t.kernel_ns)}, 2),
    t.kernel_ns + t.copy_ns - t.busy_ns
FROM device_total t LEFT JOIN device d ON d.id = t.device ORDER BY d.device, t.number;

-- define: kernels_ns
(SELECT total(total_ns) FROM kernel_total)

-- name: kernels
SELECT gv_kernel(k.name), k.count, k.total_ns, k.total_ns / k.count, k.min_ns, k.median_ns,
    k.max_ns, {share(k.total_ns, ({kernels_ns} + {fact(graph_time_ns)}))},
    s.grid_x || 'x' || s.grid_y || 'x' || s.grid_z || CASE WHEN k.shapes > 1 THEN ' ...' ELSE '' END,
    s.block_x || 'x' || s.block_y || 'x' || s.block_z,
    round(s.grid_x * s.grid_y * s.grid_z * 1.0 / nullif(d.multiprocessors, 0), 2),
    gv_occupancy(d.cc_major * 10 + d.cc_minor, s.block_x * s.block_y * s.block_z, s.registers,
        s.static_shared_bytes + s.dynamic_shared_bytes),
    NULL
FROM kernel_total k LEFT JOIN gpu_shape s ON s.id = k.shape LEFT JOIN device d ON d.id = k.device
UNION ALL SELECT '(graphs, launched whole)', g.value, t.value, t.value / g.value, NULL, NULL, NULL,
    {share(t.value, ({kernels_ns} + t.value))}, NULL, NULL, NULL, NULL, NULL
FROM fact g, fact t WHERE g.key = 'graphs' AND t.key = 'graph_time_ns' AND g.value > 0
UNION ALL SELECT CASE kind WHEN 'kernel' THEN gv_kernel(name) ELSE '(graphs, launched whole)' END,
    sum(count), sum(total_ns), sum(total_ns) / sum(CASE WHEN total_ns NOT NULL THEN count END), NULL, NULL, NULL,
    {share(sum(total_ns), (SELECT total(total_ns) FROM scaled WHERE kind IN ('kernel', 'graph')))}, NULL, NULL, NULL, NULL,
    CASE WHEN sum(total_ns) NOT NULL THEN CAST(gv_root(sum(1.0 * error_ns * error_ns)) AS INTEGER) END
FROM scaled WHERE kind IN ('kernel', 'graph') GROUP BY 1
ORDER BY 3 DESC, 1 LIMIT :top;

-- name: steps
-- min, max, median and slowest: without the warm-up. GPU time, launches, lost and loading: on average.
WITH ranked AS (
    SELECT series, kind, number, duration_ns, count(*) OVER one AS count,
        row_number() OVER (PARTITION BY series, kind ORDER BY duration_ns, number) AS place
    FROM step WHERE NOT warmup
    WINDOW one AS (PARTITION BY series, kind)),
steady AS (
    SELECT series, kind, max(CASE WHEN place = (count + 1) / 2 THEN duration_ns END) AS median_ns,
        min(duration_ns) AS min_ns, max(duration_ns) AS max_ns,
        max(CASE WHEN place = count THEN number END) AS slowest
    FROM ranked GROUP BY series, kind)
SELECT coalesce(CASE WHEN e.domain IS NOT NULL THEN e.domain || ': ' ELSE '' END || e.message, 'launches'),
    h.tid, s.kind, count(*), t.median_ns, t.min_ns, t.max_ns, t.slowest, sum(s.gpu_ns) / count(*),
    {share(sum(s.idle_ns), sum(s.duration_ns))}, sum(s.launches) / count(*), sum(s.stall_ns) / count(*),
    sum(s.load_ns) / count(*), nullif(total(s.warmup), 0) + 0,
    nullif(CAST(total(CASE WHEN s.warmup THEN s.duration_ns END) AS INTEGER), 0)
FROM step s JOIN step_series e ON e.id = s.series LEFT JOIN thread h ON h.id = e.thread
    LEFT JOIN steady t ON t.series = s.series AND t.kind = s.kind
GROUP BY s.series, s.kind ORDER BY s.series, s.kind LIMIT :top;

-- name: gpu_lines
-- "queued" is the mean of a launch.
SELECT gv_line(function, library, file, line) AS place, gpu_ns, share, error, launches,
    queued_ns / nullif(launches, 0), idle_ns, samples, gv_line(NULL, NULL, captured_file, captured_line)
FROM gpu_lines ORDER BY place IS NULL, gpu_ns DESC, launches DESC, place LIMIT :top;

-- name: graphs
-- The first row of a graph has no line: how long it took as a whole, and what all its nodes took together.
SELECT graph, place, node, nodes, launches, median_ns, of_launch_ns, share
FROM (SELECT g.id AS graph, NULL AS place, NULL AS node, g.operations / g.launches AS nodes, g.launches, g.median_ns,
        n.total_ns / g.launches AS of_launch_ns, {share(n.total_ns, g.total_ns)} AS share, g.total_ns AS all_ns,
        g.total_ns + n.total_ns AS ns
    FROM graph_total g JOIN (SELECT graph, sum(total_ns) AS total_ns FROM graph_line GROUP BY 1) n ON n.graph = g.id
    UNION ALL SELECT g.id, coalesce(gv_line(p.function, p.library, p.file, p.line), '?'),
        CASE l.kind WHEN 1 THEN coalesce(gv_kernel(k.name), 'kernel') WHEN 2 THEN coalesce(y.name, 'copy') ELSE 'memset' END,
        (l.operations + g.launches / 2) / g.launches, g.launches, l.median_ns, l.total_ns / g.launches,
        {share(l.total_ns, g.total_ns)}, g.total_ns, l.total_ns
    FROM graph_line l JOIN graph_total g ON g.id = l.graph LEFT JOIN place p ON p.id = l.place
        LEFT JOIN gpu_name k ON k.id = l.name LEFT JOIN copy_kind y ON y.id = l.copy_kind & 15)
ORDER BY all_ns DESC, graph, ns DESC, place, node LIMIT :top;

-- define: of_range(what)
-- A mark, and a range that never ended, have no time.
CASE WHEN kind <> 'mark' AND count > unended THEN {what} END

-- define: in_range(what)
CASE WHEN kind <> 'mark' THEN {what} END

-- name: ranges
SELECT coalesce(domain || ': ', '') || coalesce(message, 'without a text'), kind, count, {of_range(total_ns)},
    {of_range(median_ns)}, {of_range(max_ns)}, {in_range(gpu_ns)}, {of_range({share(idle_ns, total_ns)})},
    {in_range(launches)}, {in_range(stalls)}, {in_range(stall_ns)}, {in_range(loads)}, {in_range(load_ns)},
    {in_range(allocated_bytes)}
FROM range_summary WHERE calls > 0 OR gv_in_ranges(0)
ORDER BY kind = 'mark', total_ns DESC, count DESC, 1 LIMIT :top;

-- name: launches
SELECT gv_kernel(k.name), {sum(l.count)} AS times, {sum(l.total_ns)} AS taken,
    CAST(total(l.total_ns) / total(l.count) AS INTEGER)
FROM launch_total l LEFT JOIN kernel k ON k.id = l.kernel
GROUP BY k.name ORDER BY taken DESC, 1 LIMIT :top;

-- name: nccl
-- Collectives of a group may share an operation.
WITH ran AS (
    SELECT communicator, rank, s.kind, sum(duration_ns) AS gpu_ns
    FROM (SELECT DISTINCT communicator, rank, kind, operation FROM collective) s JOIN gpu_op o ON o.id = s.operation
    GROUP BY communicator, rank, s.kind)
SELECT printf('%016x', c.communicator), c.rank || ' of ' || c.size, c.kind, count(*), sum(c.bytes), r.gpu_ns,
    sum(k.duration_ns) AS taken
FROM collective c JOIN call k ON k.id = c.call
    LEFT JOIN ran r ON r.communicator = c.communicator AND r.rank IS c.rank AND r.kind = c.kind
GROUP BY c.communicator, c.rank, c.size, c.kind ORDER BY 6 DESC, taken DESC, 1, 2, 3 LIMIT :top;

-- name: copies
SELECT CASE t.copy_kind WHEN -1 THEN 'memset' ELSE coalesce(k.name, 'copy') END,
    CASE WHEN t.copy_kind > 0 THEN CASE t.copy_kind >> 4 WHEN 1 THEN 'pageable' WHEN 2 THEN 'pinned'
        WHEN 5 THEN 'managed' WHEN 7 THEN 'managed' END END,
    t.count, t.bytes, t.total_ns, CAST(t.bytes * 1e9 / nullif(t.total_ns, 0) AS INTEGER),
    t.bytes / t.count, t.min_ns, t.median_ns, t.max_ns,
    {share(t.total_ns, (SELECT total(total_ns) FROM copy_total))}, NULL
FROM copy_total t LEFT JOIN copy_kind k ON k.id = t.copy_kind & 15
UNION ALL SELECT name, NULL, count, (SELECT sum(t.bytes) FROM api_total t JOIN api a ON a.id = t.api WHERE a.name = scaled.name),
    total_ns, NULL, NULL, NULL, NULL, NULL,
    {share(total_ns, (SELECT total(total_ns) FROM scaled WHERE kind IN ('copy', 'set')))}, error_ns
FROM scaled WHERE kind IN ('copy', 'set')
ORDER BY 5 DESC, 1, 2 LIMIT :top;

-- name: calls
SELECT a.name, t.count, t.total_ns, t.total_ns / t.count, t.min_ns, t.median_ns, t.max_ns,
    {share(t.total_ns, (SELECT total(total_ns) FROM api_total))}, nullif(t.errors, 0)
FROM api_total t JOIN api a ON a.id = t.api ORDER BY t.total_ns DESC, a.name LIMIT :top;

-- name: quick_questions
-- Calls that left no row, and were not lost.
SELECT (SELECT CAST(total(count) AS INTEGER) FROM cost WHERE what = 'hooks-unrecorded')
    - (SELECT CAST(total(count) AS INTEGER) FROM loss WHERE what = 'call');

-- define: is_this_error
-- Of a call f, the error e.
f.api = e.api AND f.result = e.result
    AND {is_in_part((SELECT process FROM thread WHERE id = f.thread), f.thread, f.start_ns)}
    AND gv_in_ranges(f.id)

-- name: errors
WITH who AS (
    SELECT f.api, f.result, group_concat(DISTINCT p.pid) AS pids
    FROM call f JOIN api a ON a.id = f.api JOIN thread t ON t.id = f.thread JOIN process p ON p.id = t.process
    WHERE (SELECT count(*) FROM process) > 1 AND EXISTS (SELECT 1 FROM error_total)
        AND {is_failure(a.class, f.result)} AND {is_in_part(t.process, f.thread, f.start_ns)}
        AND gv_in_ranges(f.id)
    GROUP BY f.api, f.result)
SELECT a.name, e.result, gv_result(a.name, e.result), e.count, c.start_ns, c.bytes,
    coalesce(replace(w.pids, ',', ', '),
        (SELECT CASE count(*) WHEN 1 THEN max(pid) END FROM process)), gv_where(s.stack)
FROM error_total e JOIN api a ON a.id = e.api
    LEFT JOIN who w ON w.api = e.api AND w.result = e.result
    LEFT JOIN call c
        ON c.id = (SELECT f.id FROM call f WHERE {is_this_error} ORDER BY f.id LIMIT 1)
    LEFT JOIN call_stack s ON s.call = (SELECT f.id FROM call_stack k JOIN call f ON f.id = k.call
        WHERE {is_this_error} ORDER BY f.id LIMIT 1)
ORDER BY e.count DESC, a.name, e.result LIMIT :top;

-- name: captures
SELECT start_ns, name, result, gv_where(stack), begin_name, gv_where(begin_stack),
    gv_where(end_stack)
FROM lost_captures WHERE {is_in_part(process, thread, start_ns)} AND gv_in_ranges(begin_call)
ORDER BY start_ns LIMIT :top;

-- name: sync
SELECT a.name, t.count, t.total_ns, t.median_ns, t.max_ns,
    {share(t.total_ns, ((SELECT sum(last_ns - first_ns) FROM thread_total) - (SELECT
        total(max(0, min(s.end_ns, u.last_ns) - max(s.start_ns, u.first_ns)))
        FROM {stopped_times} s JOIN thread h ON h.process = s.process
            JOIN thread_total u ON u.thread = h.id)))}
FROM api_total t JOIN api a ON a.id = t.api
WHERE a.class = 'sync' ORDER BY t.total_ns DESC, a.name LIMIT :top;

-- name: loads
SELECT start_ns, duration_ns, jit_ns, wait_ns, kind, bytes, function,
    gv_kernel(coalesce(name, kernel)), library, nullif(result, 0)
FROM loads WHERE {is_in_part(process, thread, start_ns)} AND gv_in_ranges(call)
ORDER BY duration_ns DESC, id LIMIT :top;

-- name: stalls
SELECT cause, count(*), {sum(wait_ns + jit_ns)} AS lost, {sum(wait_ns)}, {sum(jit_ns)},
    max(wait_ns + jit_ns), CASE WHEN expected THEN 'yes' END
FROM stalls WHERE {is_in_part(process, thread, start_ns)}
GROUP BY cause, expected ORDER BY expected, cause = 'unknown', lost DESC, cause LIMIT :top;

-- name: latency
SELECT {fact(latency_min_ns)}, {fact(latency_median_ns)},
    {fact(latency_total_ns)} / {fact(latency_count)}, {fact(latency_max_ns)},
    round({fact(latency_total_ns)} * 1.0 / {fact(latency_count)} * {fact(operations)}
        / nullif({fact(last_ns)} - {fact(first_ns)} - {fact(stopped_ns)}, 0), 1)
WHERE {fact(latency_count)} > 0;

-- name: gaps
-- Between two operations. The place is that of the largest part. (SQLite's rule for bare columns beside a max().)
SELECT device, at_ns, gap_ns, group_concat(reason || ' ' || gv_duration(duration_ns), ', '), place
FROM (SELECT *, row_number() OVER same AS turn, min(start_ns) OVER (PARTITION BY gap) AS at_ns,
        first_value(gv_where(stack)) OVER same AS place
    FROM idle_time WHERE is_inner AND device IS NOT NULL WINDOW same AS (PARTITION BY gap ORDER BY duration_ns DESC))
WHERE turn <= 3 GROUP BY gap ORDER BY gap_ns DESC, gap LIMIT :top;

-- name: idle
-- Shares are of the time of all processes. "longest" is a row's name, and the detail is its; rows that
-- were cut to ranges have no names.
SELECT reason, detail, place, CAST(total(duration_ns) AS INTEGER) AS total,
    {share(total(duration_ns), (SELECT total(coalesce(end_ns, {fact(last_ns)}) - start_ns)
        FROM recording WHERE side = 'calls' AND start_ns IS NOT NULL AND {is_of_process(process)}))},
    {sum(gaps)}, {sum(samples)}, CASE WHEN gv_in_ranges(0) THEN 'i' || id END, confidence, max(duration_ns)
FROM (SELECT *, nullif(gv_where(stack), '') AS place FROM idle
    WHERE {is_in_part(process, thread, start_ns)}
        AND (:device < 0 OR device IS NULL OR device = :device))
GROUP BY reason, coalesce({line_of(place)}, detail) ORDER BY reason = 'unknown', total DESC, reason LIMIT :top;

-- name: memory
-- Of the fullest device.
SELECT {fact(memory_peak_bytes)}, {fact(memory_peak_at_ns)}, {fact(memory_left_bytes)},
    {share(t.bytes, d.memory_bytes)}, t.outside_bytes
FROM (SELECT * FROM memory_top ORDER BY bytes DESC LIMIT 1) t LEFT JOIN device d ON d.id = t.device
WHERE {fact(memory_known)} AND {fact(memory_peak_bytes)} > 0;

-- define: line_words
coalesce(gv_line(function, library, file, line), 'allocations without a stack')

-- name: memory_peak
-- A line's memory in all processes. The fullest device first.
SELECT device, CASE what WHEN 'allocated' THEN {line_words} WHEN 'outside'
        THEN 'contexts, code, what pools keep, and other memory outside' ELSE what END,
    name, space, {sum(blocks)}, CAST(sum(bytes) AS INTEGER) AS bytes, sum(share)
FROM memory_peak p WHERE what <> 'outside' OR bytes IS NOT NULL
GROUP BY number, what, function, library, file, line, name, space
ORDER BY (SELECT bytes FROM memory_top WHERE number IS p.number) DESC, what <> 'allocated',
    what DESC, bytes DESC, file, line LIMIT :top;

-- name: memory_lines
SELECT {line_words}, name, space, allocations, freed, allocated_bytes, peak_bytes, life_ns, time_ns
FROM memory_lines ORDER BY time_ns DESC, file, line LIMIT :top;

-- name: leaks
SELECT m.space, count(*), {sum(m.bytes)} AS left, a.name, gv_where(s.stack)
FROM memory_left m LEFT JOIN call c ON c.id = m.call LEFT JOIN api a ON a.id = c.api
    LEFT JOIN call_stack s ON s.call = m.call
GROUP BY m.space, a.name, s.stack ORDER BY left DESC, m.space, a.name LIMIT :top;

-- name: samples
SELECT uuid, at_ns, gpu_percent, memory_percent, memory_used_bytes, power_mw, sm_clock_mhz,
    temperature_c, sm_percent, occupancy_percent, tensor_percent, dram_percent, pcie_percent
FROM samples WHERE at_ns >= :from AND at_ns < :to ORDER BY uuid, at_ns;

-- name: processes
SELECT p.pid, p.program, (SELECT sum(records) FROM threads t WHERE t.process = p.id), p.start_ns,
    p.end_ns - p.start_ns,
    CASE WHEN p.ended IS NULL THEN 'runs'
        WHEN p.ended = 'killed' THEN coalesce(gv_ended(p.exit_signal), 'killed or crashed')
        ELSE p.ended END,
    p.exit_code,
    CASE p.gpu WHEN 'cupti' THEN CASE WHEN {is_simulated} THEN 'recorded by a simulated CUPTI '
            ELSE 'recorded by CUPTI ' END
        || CASE WHEN p.cupti_version >= 10000 THEN gv_version(p.cupti_version / 10)
            ELSE '(API version ' || coalesce(p.cupti_version, '?') || ')' END
        ELSE p.gpu END
FROM process p WHERE {is_of_process(p.id)} ORDER BY p.id LIMIT :top;

-- name: ranks
SELECT r.rank, r.host, r.late, r.late_ns, r.waited_ns, r.run_ns, {share(r.busy_ns, r.run_ns)}, r.idle_ns, r.stalls, r.stall_ns
FROM ranks r
WHERE (SELECT count(*) FROM process_rank WHERE rank IS NOT NULL) > 1 AND {is_of_process(r.process)}
ORDER BY r.late_ns DESC, r.idle_ns DESC, r.rank LIMIT :top;

-- name: spread
-- Nobody is slow because of others. Waits of a rank may overlap.
WITH own AS (SELECT rank, own_ns, row_number() OVER (ORDER BY own_ns, rank) AS place, count(*) OVER () AS ranks
    FROM (SELECT rank, max(0, run_ns - coalesce(waited_ns, 0)) AS own_ns FROM ranks WHERE run_ns IS NOT NULL))
SELECT s.ranks, s.rank, s.own_ns, m.own_ns, f.rank, f.own_ns, {share((s.own_ns - f.own_ns), s.own_ns)}
FROM own s JOIN own f ON f.place = 1 JOIN own m ON m.place = (m.ranks + 1) / 2
WHERE s.place = s.ranks AND s.ranks > 1;

-- name: collectives
SELECT c.id, c.kind, c.bytes, c.ranks, c.first_ns, c.late_rank, c.wait_ns, c.move_ns, c.reason, gv_where(c.stack)
FROM collectives c WHERE c.first_ns >= :from AND c.first_ns < :to ORDER BY c.wait_ns DESC LIMIT :top;

-- name: environment
SELECT p.pid, e.name, e.value FROM environment e LEFT JOIN process p ON p.id = e.process
WHERE {is_of_process(e.process)} ORDER BY e.process, e.name LIMIT :top;

-- name: flights
SELECT p.pid, f.tid, f.thread_name, f.name, gv_kernel(f.kernel), f.start_ns, f.elapsed_ns, f.cause,
    f.confidence
FROM in_flight f LEFT JOIN process p ON p.id = f.process
WHERE {is_of_process(f.process)} ORDER BY f.start_ns, f.tid LIMIT :top;

-- name: losses
SELECT what, class, {sum(count)} AS lost FROM losses
WHERE {is_of_process(process)} GROUP BY what, class ORDER BY lost DESC, what, class LIMIT :top;

-- name: own_cost
SELECT what, {sum(count)}, {sum(total_ns)} AS taken, sum(share), nullif({sum(spared)}, 0)
FROM own_cost WHERE {is_of_process(process)} AND (count > 0 OR total_ns > 0 OR spared > 0)
GROUP BY what ORDER BY taken DESC, what LIMIT :top;
