-- The named queries of `gpuverify query`, which are examples of the views too. The help of a name is
-- what `gpuverify query --list` prints.

-- name: findings: what could be saved, the most first
SELECT 'f' || f.id AS finding, f.what, f.lost_ns, f.saves_ns, round(f.share, 4) AS share_of_phase,
    round(f.lost_ns * 1.0 / nullif((SELECT sum(l.total_ns) FROM ledger l WHERE l.process = f.process AND l.device IS f.device), 0), 4) AS share_of_run,
    f.phase, f.steps, f.file, f.line, f.function, f.title, f.fix
FROM findings f ORDER BY f.id;

-- name: ledger: where the time of each device went, by account and line
SELECT process, device, phase, what, total_ns, error_ns, file, line, function,
    claimed_by_file, claimed_by_line, detail
FROM ledger ORDER BY process, device, total_ns DESC;

-- name: facts: what is true of the run beside its ledger
SELECT process, name, detail FROM facts;

-- name: kernels: kernels by time on the GPU
SELECT name, count, total_ns, min_ns, median_ns, max_ns, share
FROM kernel_summary ORDER BY total_ns DESC;

-- name: calls: CUDA calls by the time spent in them
SELECT name, class, count, total_ns, median_ns, max_ns, errors
FROM api_summary ORDER BY total_ns DESC;

-- name: copies: copies by direction, with their rate
SELECT name, count, bytes, total_ns, CAST(round(bytes * 1e9 / nullif(total_ns, 0)) AS INTEGER) AS bytes_per_second
FROM copy_summary ORDER BY total_ns DESC;

-- name: slow-calls: the 20 longest calls
SELECT id, name, kernel, start_ns, duration_ns, thread
FROM calls WHERE count = 1 ORDER BY duration_ns DESC LIMIT 20;

-- name: failed-calls: calls that returned an error
SELECT name, result, count(*) AS count, min(start_ns) AS first_ns
FROM calls WHERE result NOT IN (0, 4, 600)
GROUP BY name, result ORDER BY count DESC, name;

-- name: lost-captures: captures of graphs that a call lost, and what to do
SELECT begin_name, name, result, end_name, end_result, advice
FROM lost_captures ORDER BY start_ns;

-- name: stall-causes: time lost in stalls, by cause
SELECT cause, count(*) AS count, sum(wait_ns) AS wait_ns, sum(jit_ns) AS jit_ns,
    max(duration_ns) AS longest_ns
FROM stalls WHERE expected = 0 GROUP BY cause
ORDER BY cause = 'unknown', sum(wait_ns + jit_ns) DESC;

-- name: stall-lines: time lost in stalls, by line of the program
SELECT f.file, f.line, f.function, s.cause, count(*) AS count,
    sum(s.wait_ns + s.jit_ns) AS lost_ns
FROM stalls s JOIN frames f ON f.stack = s.stack
WHERE s.expected = 0 AND f.depth = (SELECT min(depth) FROM frames
    WHERE stack = s.stack AND kind <> 'runtime' AND file IS NOT NULL)
GROUP BY f.file, f.line, f.function, s.cause
ORDER BY s.cause = 'unknown', lost_ns DESC;

-- name: older-stalls: the 50 longest stalls of the time that is kept as sums by minute (GPUVERIFY_KEEP)
SELECT start_ns, wait_ns + jit_ns AS lost_ns, cause, name, kernel, process, stack, advice
FROM older_stalls ORDER BY lost_ns DESC LIMIT 50;

-- name: idle-lines: idle time of the devices, by reason and line of the program
SELECT i.reason, f.file, f.line, max(f.function) AS function,
    CASE WHEN f.file IS NULL THEN i.detail END AS detail, sum(i.gaps) AS gaps,
    sum(i.duration_ns) AS idle_ns, sum(i.samples) AS samples
FROM idle i LEFT JOIN frames f ON f.stack = i.stack AND f.depth = (SELECT depth FROM frames
    WHERE stack = i.stack AND kind <> 'runtime' AND file IS NOT NULL
    ORDER BY kind <> 'python', depth LIMIT 1)
GROUP BY 1, 2, 3, 5 ORDER BY i.reason = 'unknown', idle_ns DESC;

-- name: gpu-lines: GPU time by line of the program, with its standard error
SELECT file, line, function, gpu_ns, round(share, 4) AS share, round(error, 4) AS error, launches, samples,
    queued_ns / nullif(launches, 0) AS mean_queued_ns, idle_ns, captured_file, captured_line
FROM gpu_lines ORDER BY file IS NULL AND function IS NULL, gpu_ns DESC, launches DESC;

-- name: host-functions: functions that streams called on the CPU, by time
SELECT h.name, h.library, count(*) AS count, sum(h.duration_ns) AS total_ns,
    max(h.duration_ns) AS longest_ns, sum(w.count) AS stalls, sum(w.wait_ns) AS waited_ns
FROM host_functions h LEFT JOIN (SELECT host_function, count(*) AS count, sum(wait_ns) AS wait_ns
    FROM stalls WHERE expected = 0 GROUP BY host_function) w ON w.host_function = h.id
GROUP BY h.name, h.library ORDER BY total_ns DESC;

-- name: ranges: the program's own ranges and marks (NVTX, gpuverify.h), and what the calls in them did
SELECT kind, domain, message, count, unended, total_ns, median_ns, max_ns, gpu_ns,
    round(idle_ns * 1.0 / nullif(total_ns, 0), 4) AS idle, launches, stalls, stall_ns, loads, load_ns,
    allocated_bytes
FROM range_summary ORDER BY kind = 'mark', total_ns DESC, count DESC, domain, message;

-- name: steps: the program's steps, each with what happened in it
SELECT series, number, kind, warmup, start_ns, duration_ns, launches, gpu_ns, idle_ns, stalls, stall_ns,
    loads, load_ns, allocations
FROM steps ORDER BY series, number;

-- name: minutes: sums of each minute, also of older time of which only they are kept (GPUVERIFY_KEEP)
SELECT utc, process, what, name, count, total_ns, max_ns, bytes
FROM minutes ORDER BY minute_ns, what, process, total_ns DESC, name;

-- name: loads: loads of code: what, how long, waiting and compiling
SELECT start_ns, kind, name, library, bytes, duration_ns, wait_ns, jit_ns, gpu_busy
FROM loads ORDER BY start_ns;

-- name: jit: what the driver compiled, or found in its cache
SELECT operation, entry, count(*) AS count, sum(duration_ns) AS total_ns,
    sum(cache_bytes) AS cache_bytes
FROM jits GROUP BY operation, entry ORDER BY total_ns DESC;

-- name: launch-latency: from the launch to the kernel's start on the GPU, by kernel
SELECT o.name, count(*) AS count, min(o.start_ns - c.start_ns) AS least_ns,
    avg(o.start_ns - c.start_ns) AS mean_ns, max(o.start_ns - c.start_ns) AS most_ns
FROM gpu_ops o JOIN calls c ON c.id = o.call
WHERE o.kind = 'kernel' GROUP BY o.name ORDER BY mean_ns DESC;

-- name: gpu-gaps: the 20 longest gaps between two operations on a device
-- Not those in which another profiler had the GPU side.
SELECT device, uuid, gap_start_ns, start_ns - gap_start_ns AS gap_ns, name AS next
FROM (SELECT o.device, d.uuid, o.start_ns, o.name, max(o.start_ns + o.duration_ns) OVER (
        PARTITION BY coalesce(d.uuid, o.process || ':' || o.device) ORDER BY o.start_ns
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS gap_start_ns
    FROM gpu_ops o LEFT JOIN devices d ON d.process = o.process AND d.device = o.device
    WHERE o.start_ns IS NOT NULL AND o.duration_ns IS NOT NULL) g
WHERE start_ns > gap_start_ns AND NOT EXISTS (SELECT 1 FROM recording r WHERE r.gpu = 'other'
    AND r.start_ns < g.start_ns AND coalesce(r.end_ns, g.start_ns) > gap_start_ns)
ORDER BY gap_ns DESC LIMIT 20;

-- name: gpu-busy: how long each device had work, from the first call to the last
SELECT min(device) AS device, uuid,
    sum(max(0, end_ns - max(start_ns, coalesce(before_ns, start_ns)))) AS busy_ns,
    (SELECT max(start_ns + duration_ns) - min(start_ns) FROM calls) AS run_ns
FROM (SELECT device, uuid, which, start_ns, start_ns + duration_ns AS end_ns,
        max(start_ns + duration_ns) OVER (PARTITION BY which ORDER BY start_ns
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before_ns
    FROM (SELECT o.device, d.uuid, coalesce(d.uuid, o.process || ':' || o.device) AS which,
            o.start_ns, o.duration_ns
        FROM gpu_ops o
            LEFT JOIN devices d ON d.process = o.process AND d.device = o.device
        WHERE o.start_ns IS NOT NULL AND o.duration_ns IS NOT NULL))
GROUP BY which ORDER BY 1, uuid;

-- name: small-kernels: kernels with fewer blocks than the device has SMs
SELECT o.name, o.grid_x * o.grid_y * o.grid_z AS blocks, d.multiprocessors,
    count(*) AS count, sum(o.duration_ns) AS total_ns
FROM gpu_ops o JOIN devices d ON d.process = o.process AND d.device = o.device
WHERE o.kind = 'kernel' AND o.grid_x * o.grid_y * o.grid_z < d.multiprocessors
GROUP BY o.name, blocks, d.multiprocessors ORDER BY total_ns DESC;

-- name: streams: what ran on each stream
SELECT process, device, stream, cupti_stream, kind, count(*) AS count,
    sum(duration_ns) AS total_ns
FROM gpu_ops GROUP BY process, device, stream, cupti_stream, kind ORDER BY total_ns DESC;

-- name: threads: calls of each thread
SELECT t.process, t.tid, t.name, sum(c.count) AS calls, sum(c.duration_ns) AS total_ns
FROM calls c JOIN threads t ON t.id = c.thread
GROUP BY t.id ORDER BY total_ns DESC;

-- name: allocations: allocated memory by call, and failures
SELECT name, count(CASE WHEN result = 0 THEN 1 END) AS count,
    sum(CASE WHEN result = 0 THEN bytes END) AS bytes,
    max(CASE WHEN result = 0 THEN bytes END) AS largest_bytes,
    count(CASE WHEN result <> 0 THEN 1 END) AS failed,
    max(CASE WHEN result <> 0 THEN bytes END) AS largest_failed_bytes
FROM calls WHERE class = 'alloc' AND call_kind IS NOT 'pool-attribute' GROUP BY name ORDER BY bytes DESC, name;

-- name: memory-peak: what held each device's memory when most of it was allocated
SELECT device, at_ns, what, file, line, function, name, space, blocks, bytes, share
FROM memory_peak ORDER BY number, what <> 'allocated', bytes DESC;

-- name: memory-lines: what each line of the program allocated, held and never freed
SELECT file, line, function, name, space, allocations, allocated_bytes, peak_bytes, at_peak_bytes,
    left_bytes, freed, life_ns, round(churn, 1) AS churn, time_ns
FROM memory_lines ORDER BY at_peak_bytes DESC, peak_bytes DESC, time_ns DESC;

-- name: processes: processes, and whether their GPU activity was recorded
SELECT id, pid, program, ended, exit_code, exit_signal, gpu, gpu_why FROM processes ORDER BY id;

-- name: devices: the devices that were used
SELECT device, name, compute_capability, multiprocessors, memory_bytes, driver_version
FROM devices GROUP BY uuid, device, name ORDER BY device;

-- define: mean_of(column)
-- A sample of GPM counts for as long as it covers.
sum({column} * gpm_ns) / sum(iif({column} IS NULL, NULL, gpm_ns))

-- name: samples: what the devices did in each second
SELECT uuid, at_ns / 1000000000 AS second, avg(gpu_percent) AS gpu_percent,
    max(memory_used_bytes) AS memory_used_bytes, avg(power_mw) / 1000.0 AS watts,
    max(temperature_c) AS temperature_c, {mean_of(sm_percent)} AS sm_percent,
    {mean_of(occupancy_percent)} AS occupancy_percent, {mean_of(tensor_percent)} AS tensor_percent,
    {mean_of(dram_percent)} AS dram_percent, {mean_of(pcie_percent)} AS pcie_percent,
    max(slowed_by) AS slowed_by
FROM samples GROUP BY uuid, second ORDER BY uuid, second;

-- name: in-flight: calls that had not returned
SELECT process, tid, thread_name, name, kernel, elapsed_ns, cause, advice
FROM in_flight ORDER BY elapsed_ns DESC;

-- name: losses: records that were lost
SELECT process, what, class, count FROM losses ORDER BY count DESC;

-- name: not-taken: stacks that were not taken
SELECT process, what, reason, count FROM not_taken ORDER BY count DESC;

-- name: own-cost: what gpuverify itself cost
SELECT process, what, count, total_ns, spared, share FROM own_cost ORDER BY process, total_ns DESC;
