-- The facts of a run: each query has one row at most, whose columns are members of struct
-- gv_run_facts. ?1 to ?4 say which part of the trace, as in the fragment in_part.

-- define: is_of_process(process)
(?1 = 0 OR {process} = ?1)

-- define: sum(what)
CAST(total({what}) AS INTEGER)

-- name: processes
SELECT count(*) AS processes, min(id) AS first_process, count(CASE WHEN gpu = 'cupti' THEN 1 END) AS seen_processes,
    count(CASE WHEN gpu <> 'cupti' THEN 1 END) AS unseen_processes,
    count(CASE WHEN gpu = 'sampled' THEN 1 END) AS sampled_processes,
    count(CASE WHEN ended = 'killed' THEN 1 END) AS killed,
    (SELECT value FROM meta WHERE key = 'snapshot_ns') AS snapshot_ns,
    max(coalesce(end_ns, (SELECT value FROM fact WHERE key = 'last_ns'))) - min(start_ns) AS lived_ns
FROM process WHERE {is_of_process(id)};

-- name: threads
SELECT count(*) AS threads FROM threads WHERE {is_of_process(process)} AND (?2 = 0 OR id = ?2);

-- name: devices
SELECT count(*) AS devices_used, {sum(kernel_ns)} AS seen_kernel_ns
FROM device_total;

-- name: busiest_device
SELECT d.name AS device
FROM device_total t JOIN device d ON d.id = t.device ORDER BY t.busy_ns DESC LIMIT 1;

-- name: simulated
-- A program that failed may not have used the device.
SELECT EXISTS (SELECT 1 FROM device WHERE name GLOB 'GV_SIM *') AS simulated;

-- name: kernels
SELECT count(*) AS kernel_names, {sum(count)} AS kernels_run FROM kernel_total;

-- name: top_kernel
SELECT name AS top_kernel FROM kernel_total ORDER BY total_ns DESC, rank LIMIT 1;

-- name: copies
SELECT {sum(count)} AS copies, {sum(bytes)} AS copied_bytes
FROM copy_total WHERE copy_kind & 15 BETWEEN 1 AND 4;

-- name: failed
SELECT {sum(count)} AS failed FROM error_total;

-- name: failed_most
SELECT a.name AS failed_most FROM error_total t JOIN api a ON a.id = t.api
GROUP BY a.id ORDER BY sum(t.count) DESC, a.name LIMIT 1;

-- name: stalls
SELECT count(*) AS stalls, {sum(wait_ns + jit_ns)} AS stall_ns
FROM stalls WHERE NOT expected AND {in_part(process, thread, start_ns)};

-- name: in_flight
SELECT count(*) AS in_flight, count(CASE WHEN class = 'sync' THEN 1 END) AS sync_flights
FROM in_flight WHERE {is_of_process(process)};

-- name: flight
SELECT f.process AS flight_process, f.name AS flight, f.elapsed_ns AS flight_ns, p.ended IS NULL AS flight_running
FROM in_flight f JOIN processes p ON p.id = f.process
WHERE (p.ended IS NULL OR p.ended = 'killed') AND {in_part(f.process, f.thread, f.start_ns)}
ORDER BY f.elapsed_ns DESC LIMIT 1;

-- name: lost
-- A record that the spool lacks may be of any kind.
SELECT {sum(count)} AS lost,
    {sum(CASE WHEN what LIKE 'GPU %' OR what = 'record' THEN count END)} AS gpu_lost,
    {sum(CASE WHEN what = 'GPU operation' THEN count END)} AS operations_lost,
    {sum(CASE WHEN class = 'missing' THEN count END)} AS launches_missing
FROM losses WHERE {is_of_process(process)};

-- define: is_once
-- Of own_cost: however long the program runs.
what IN ('start', 'end')

-- name: own_cost
-- What gpuverify itself cost, in millionths of the processes' time: all of it, what it cost once, and whether that is the least;
-- and how many calls it put between events.
SELECT count(*) AS own_costs, CAST(round(1e6 * total(share)) AS INTEGER) AS own_cost_ppm,
    CAST(round(1e6 * total(CASE WHEN {is_once} THEN share END)) AS INTEGER) AS own_cost_once_ppm,
    {cupti_was_in_use} AS own_cost_is_least, {sum(CASE what WHEN 'events' THEN count END)} AS measured_calls
FROM own_cost WHERE {is_of_process(process)};

-- name: utilisation
-- NVML's, while the program made calls: of its only device, if nobody else used that. Only estimates are compared with it:
-- without any, no sample is read.
SELECT count(s.gpu_percent) AS utilisation_samples, CAST(round(avg(s.gpu_percent)) AS INTEGER) AS utilisation_percent
FROM fact c CROSS JOIN fact f CROSS JOIN fact l CROSS JOIN sample s
WHERE c.key = 'sampled_calls' AND c.value > 0 AND f.key = 'first_ns' AND l.key = 'last_ns'
    AND s.at_ns BETWEEN f.value AND l.value AND (SELECT count(DISTINCT uuid) FROM device) = 1
    AND NOT EXISTS (SELECT 1 FROM other_process WHERE NOT {is_server(name)});

-- name: growth
-- The line that holds most of what was allocated all through the run and never freed: in most tenths of it, and in the last.
SELECT grown_times, grown_bytes, grown_stack FROM (
    SELECT count(*) AS grown_times, {sum(bytes)} AS grown_bytes, stack AS grown_stack,
        count(DISTINCT tenth) AS tenths, max(tenth) AS last
    FROM (SELECT m.bytes AS bytes, s.stack AS stack,
            (c.start_ns - f.value) * 10 / (l.value - f.value + 1) AS tenth
        FROM memory_left m JOIN call c ON c.id = m.call JOIN call_stack s ON s.call = m.call
            JOIN fact f ON f.key = 'first_ns' JOIN fact l ON l.key = 'last_ns'
        WHERE m.space = 'device' AND l.value > f.value) GROUP BY stack)
WHERE tenths >= 8 AND last >= 9 AND grown_times >= 10 AND grown_bytes >= 16 << 20
ORDER BY grown_bytes DESC LIMIT 1;

-- name: full
SELECT {sum(count)} AS full, {sum(CASE what WHEN 'GPU record' THEN count END)} AS gpu_full
FROM loss
WHERE {is_of_process(process)} AND what IN ('call', 'load', 'name', 'thread', 'GPU record')
    AND class NOT IN ('dropped by CUPTI', 'missing', 'trace taken away');

-- name: failed_classes
SELECT {sum(CASE a.class WHEN 'load' THEN t.errors END)} AS load_failed,
    {sum(CASE a.class WHEN 'copy' THEN t.errors END)} AS copy_failed
FROM api_total t JOIN api a ON a.id = t.api;

-- name: init_result
SELECT e.result AS init_result FROM error_total e JOIN api a ON a.id = e.api
WHERE a.class = 'init' AND NOT EXISTS (SELECT 1 FROM api_total t JOIN api b ON b.id = t.api
    WHERE b.class = 'init' AND t.errors < t.count)
ORDER BY e.count DESC LIMIT 1;

-- name: launch_failed_most
SELECT a.name AS launch_failed_most, e.result AS launch_result
FROM error_total e JOIN api a ON a.id = e.api
WHERE a.class = 'launch' AND a.gpu_work > 0 ORDER BY e.count DESC, a.name, e.result LIMIT 1;

-- name: launch_blocking
SELECT name || '=' || value AS launch_blocking FROM variable
WHERE name = 'CUDA_LAUNCH_BLOCKING' AND process IN {launch_blocking} AND {is_of_process(process)}
ORDER BY process LIMIT 1;

-- name: hidden_devices
-- What is neither a number nor a GPU-... or MIG-..., such as -1 or Slurm's NoDevFiles, ends the list.
SELECT name || '=' || value AS hidden_devices FROM variable
WHERE name = 'CUDA_VISIBLE_DEVICES' AND trim(value) NOT GLOB '[0-9GM]*'
    AND {is_of_process(process)}
ORDER BY process LIMIT 1;

-- define: refused_call
(SELECT value FROM fact WHERE key = 'memory_refused_call')

-- name: refused
SELECT a.name AS refused, c.bytes AS refused_bytes, s.stack AS refused_stack,
    p.ended = 'exit' AND p.exit_code = 0 AS refused_ended_well
FROM call c JOIN api a ON a.id = c.api LEFT JOIN thread t ON t.id = c.thread
    LEFT JOIN process p ON p.id = t.process LEFT JOIN call_stack s ON s.call = c.id
WHERE c.id = {refused_call};

-- name: held
-- What held most of the memory of the device of that call, or of the fullest one.
SELECT h.bytes AS held_bytes, gv_line(p.function, p.library, p.file, p.line) AS held_where, m.bytes AS peak_bytes,
    m.outside_bytes AS outside_bytes, m.other_bytes AS other_bytes,
    d.memory_bytes AS device_bytes
FROM memory_top m LEFT JOIN device d ON d.id = m.device
    LEFT JOIN (SELECT device, line, sum(bytes) AS bytes FROM memory_holder GROUP BY device, line) h
        ON h.device IS m.number
    LEFT JOIN memory_line l ON l.id = h.line LEFT JOIN place p ON p.id = l.place
ORDER BY (SELECT count(*) FROM call c JOIN thread t ON t.id = c.thread
        JOIN context_device x ON x.context = c.context JOIN device e ON e.process = t.process
            AND e.device = x.device
        WHERE c.id = {refused_call} AND e.uuid IS d.uuid) DESC, m.bytes DESC, h.bytes DESC LIMIT 1;
