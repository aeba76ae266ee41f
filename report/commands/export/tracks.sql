-- The tracks of a timeline and what is on them.

-- name: shapes
-- What operations say of their kernel, made once for each shape of a launch instead of for each operation.
CREATE TEMP TABLE track_shape (id INTEGER PRIMARY KEY, name, full_name, grid, block, registers, shared_bytes,
    local_bytes);
INSERT INTO temp.track_shape SELECT s.id, gv_kernel(n.name), nullif(n.name, gv_kernel(n.name)), s.grid_x || 'x' || s.grid_y || 'x' || s.grid_z,
    s.block_x || 'x' || s.block_y || 'x' || s.block_z, s.registers,
    s.static_shared_bytes + s.dynamic_shared_bytes, s.local_bytes
FROM gpu_shape s LEFT JOIN gpu_name n ON n.id = s.name;

-- ---- tracks ----
-- Parent: its name in tracks.def, its two numbers. Then the name of the track, its rank among the tracks of its process,
-- for a process and a thread pid and tid, and for a process its arguments and its start.

-- name: process
SELECT NULL, NULL, NULL, coalesce(program, 'process'), 0, coalesce(pid, id), NULL, arguments, start_ns
FROM processes WHERE id = ?1;

-- name: thread
SELECT 'process', process, 0, coalesce(name, 'thread'), 8 * serial + 3,
    (SELECT coalesce(pid, id) FROM processes WHERE id = t.process), tid FROM threads t WHERE id = ?1;

-- define: of_thread(name, rank)
SELECT 'thread', id, 0, '{name}', 8 * serial + {rank} FROM threads WHERE id = ?1

-- name: steps
{of_thread(steps, 1)};

-- name: ranges
{of_thread(ranges, 2)};

-- name: stalls
{of_thread(stalls, 4)};

-- name: loads
{of_thread(loads, 5)};

-- define: after_threads(rank)
(1 << 28) + min(coalesce({rank}, 0), 1 << 24)

-- name: unseen
SELECT 'process', ?1, 0, 'not recorded', (1 << 28) - 1 FROM processes WHERE id = ?1;

-- name: device
SELECT 'process', ?1, 0,
    coalesce('GPU ' || nullif(?2, -1) || coalesce(': ' || (SELECT gv_device(name) FROM devices
        WHERE process = ?1 AND device = ?2), ''), 'GPU'),
    {after_threads(?2 * 1024)}
FROM processes WHERE id = ?1;

-- name: idle
SELECT 'device', ?1, ?2, 'idle', {after_threads(?2 * 1024)} FROM processes WHERE id = ?1;

-- name: stream
SELECT 'device', p.process, p.device, 'stream ' || p.stream || CASE WHEN EXISTS (SELECT 1 FROM gpu_place
        WHERE process = p.process AND device = p.device AND context <> p.context) THEN ', context ' || p.context ELSE '' END,
    {after_threads(p.device * 1024 + 1 + min(p.stream, 1022))}
FROM gpu_place p WHERE p.id = ?1;

-- name: sampled
SELECT NULL, NULL, NULL, coalesce(gv_device(name), 'GPU') || coalesce(', ' || uuid, ''), ?1
FROM devices WHERE id = ?1;

-- ---- pieces ----
-- id, two numbers of the track, start, duration (NULL: no end; -1: a moment), name, category, and two calls: an
-- arrow leads from each to the piece, or begins at the piece of that call. Each further column is an argument with
-- the column's name, unless it is NULL.

-- name: pieces_steps
SELECT number, thread, 0, start_ns, duration_ns, coalesce(message, 'step') || ' ' || number, 'step', NULL, NULL,
    number AS step, source, kind, nullif(warmup, 0) AS warmup, calls, launches, gpu_ns, idle_ns,
    nullif(stalls, 0) AS stalls, nullif(stall_ns, 0) AS stall_ns
FROM steps ORDER BY series, number;

-- name: pieces_ranges
SELECT id, thread, 0, start_ns, CASE kind WHEN 'mark' THEN -1 ELSE duration_ns END, coalesce(message, 'range'),
    'range', NULL, NULL, id AS range, kind, domain, coalesce(category_name, category) AS category, payload
FROM ranges WHERE id > ?1 ORDER BY id LIMIT 32768;

-- name: pieces_calls
SELECT id, thread, 0, start_ns, span_ns, name, class, id, NULL, id AS call, kernel, bytes, stream,
    nullif(count, 1) AS count, CASE WHEN count > 1 THEN duration_ns END AS in_calls_ns,
    CASE WHEN result <> 0 THEN gv_result(name, result) END AS result, gv_line_of_stack(stack) AS line
FROM calls WHERE id > ?1 ORDER BY id LIMIT 32768;

-- name: pieces_in_flight
SELECT 0, thread, 0, start_ns, NULL, name, class, NULL, NULL, elapsed_ns, gv_kernel(kernel) AS kernel, cause,
    state, advice
FROM in_flight WHERE thread IS NOT NULL;

-- name: pieces_host_functions
SELECT id, thread, 0, start_ns, duration_ns, coalesce(name, 'host function'), 'host function', call, NULL,
    id AS host_function, call, stream, gv_line(name, library, file, line) AS line
FROM host_functions WHERE id > ?1 AND start_ns IS NOT NULL AND thread IS NOT NULL ORDER BY id LIMIT 32768;

-- define: stalls(which)
SELECT s.id, s.thread, 0, s.start_ns, s.duration_ns, s.cause, CASE WHEN s.expected THEN 'requested wait' ELSE 'stall' END,
    s.blocked_by, (SELECT call FROM gpu_ops WHERE id = s.waited_for), 's' || s.id AS stall, s.call, s.name AS function,
    gv_kernel(s.kernel) AS kernel, s.wait_ns, s.work_ns, s.jit_ns, s.confidence, s.advice, s.waited_for, s.blocked_by,
    s.drained_count, s.drained_ns, s.delay_ns, s.other_pid, s.other_name, gv_line_of_stack(s.stack) AS line
FROM stalls s WHERE s.id > ?1 AND {which} ORDER BY s.id LIMIT 32768

-- name: pieces_stalls
{stalls(NOT s.expected)};

-- name: pieces_waits
{stalls(s.expected)};

-- name: pieces_loads
SELECT id, thread, 0, start_ns, duration_ns, kind, 'load of code', NULL, NULL, id AS load, call, function,
    CASE WHEN kernel IS NULL THEN name END AS file, gv_kernel(kernel) AS kernel, image, bytes, library, jit_ns, wait_ns,
    gpu_busy, CASE WHEN result <> 0 THEN gv_result(function, result) END AS result
FROM loads WHERE thread IS NOT NULL ORDER BY start_ns, duration_ns DESC;

-- name: pieces_unseen
SELECT 0, process, 0, start_ns, max(end_ns - start_ns, 0), CASE gpu WHEN 'other' THEN 'GPU: another profiler'
    WHEN 'operations' THEN 'GPU: only operations' WHEN 'between' THEN 'GPU: between windows' ELSE 'GPU: stopped' END,
    'recording', NULL, NULL, profiler, why
FROM recording WHERE side = 'gpu' AND gpu <> 'seen' AND start_ns IS NOT NULL;

-- name: pieces_idle
-- A row that stands for several short times says where the first one was.
SELECT id, process, coalesce(device, -1), start_ns, CASE WHEN gap IS NULL THEN -1 ELSE duration_ns END, reason, 'idle', NULL, NULL,
    'i' || id AS idle, detail, confidence, samples, CASE WHEN gap IS NULL THEN gaps END AS times,
    CASE WHEN gap IS NULL THEN duration_ns END AS together_ns, thread, previous_call, next_call,
    gv_line_of_stack(stack) AS line
FROM idle ORDER BY start_ns;

-- name: pieces_operations
-- They are stored almost in the order of time: each page is sorted, which needs less than all of them.
SELECT o.id, o.place, 0, o.start_ns, o.duration_ns, CASE o.kind WHEN 1 THEN coalesce(s.name, 'kernel')
        WHEN 2 THEN coalesce(y.name, 'copy') WHEN 3 THEN 'memset' ELSE 'graph' END,
    CASE o.kind WHEN 1 THEN 'kernel' WHEN 2 THEN 'copy' WHEN 3 THEN 'set' ELSE 'graph' END, o.call, NULL,
    o.id AS operation, o.call, o.bytes,
    CASE o.copy_kind >> 4 WHEN 1 THEN 'pageable' WHEN 2 THEN 'pinned' WHEN 5 THEN 'managed' WHEN 7 THEN 'managed' END
        AS host_memory,
    o.graph_node, gv_line_of_stack(n.stack) AS line, s.grid, s.block, s.registers, s.shared_bytes, nullif(s.local_bytes, 0) AS local_bytes, s.full_name
FROM (SELECT id FROM (SELECT id, start_ns FROM gpu_op WHERE id > ?1 ORDER BY id LIMIT 32768) ORDER BY start_ns LIMIT 32768) p
    CROSS JOIN gpu_op o ON o.id = p.id LEFT JOIN temp.track_shape s ON s.id = o.shape
    LEFT JOIN copy_kind y ON y.id = o.copy_kind & 15 LEFT JOIN gpu_place d ON d.id = o.place
    LEFT JOIN graph_node n ON n.process = d.process AND n.node = o.graph_node;

-- define: sample
s.id, (SELECT min(id) FROM devices WHERE uuid = s.uuid), s.at_ns, s.gpm_ns

-- define: sampled_use
s.sm_percent AS "SMs active, %", s.occupancy_percent AS "occupancy, %", s.tensor_percent AS "tensor cores, %", s.dram_percent AS "DRAM, %"

-- define: sampled_pcie
s.pcie_tx_mib AS "PCIe sent, MiB/s", s.pcie_rx_mib AS "PCIe received, MiB/s"

-- name: samples
-- Each further column is a counter: its name, and after a comma its unit.
SELECT {sample}, s.gpu_percent AS "GPU busy, %",
    s.memory_percent AS "memory busy, %", s.memory_used_bytes AS "memory used, bytes",
    s.power_mw / 1000.0 AS "power, W", s.sm_clock_mhz AS "SM clock, MHz", s.memory_clock_mhz AS "memory clock, MHz",
    s.temperature_c AS "temperature, degrees Celsius", {sampled_use}, s.fp64_percent AS "FP64, %", s.fp32_percent AS "FP32, %",
    s.fp16_percent AS "FP16, %", {sampled_pcie}, s.nvlink_tx_mib AS "NVLink sent, MiB/s", s.nvlink_rx_mib AS "NVLink received, MiB/s"
FROM samples s WHERE s.id > ?1 ORDER BY s.id LIMIT 32768;

-- name: samples_on_page
SELECT {sample}, {sampled_use}, {sampled_pcie}
FROM samples s WHERE s.id > ?1 AND s.gpm_ns IS NOT NULL ORDER BY s.id LIMIT 32768;
