-- Every statement that writes or resumes a trace.

-- name: META_SET
INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?);

-- name: META_GET
SELECT value FROM meta WHERE key = ?;

-- name: API_FIND
SELECT id FROM api WHERE name = ? AND class = ?;

-- name: API_ADD
INSERT INTO api (name, class) VALUES (?, ?);

-- name: PROCESS_FIND
SELECT id FROM process WHERE identity = ?;

-- name: PROCESS_ADD
INSERT INTO process (identity, pid, parent_pid, start_ticks, program, executable, arguments,
    directory, forked, start_ns) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: PROCESS_DRIVER
UPDATE process SET driver_version = ?2 WHERE id = ?1;

-- name: PROCESS_END
UPDATE process
SET end_ns = ?2, ended = ?3, exit_code = ?4, exit_signal = nullif(?5, 0)
WHERE id = ?1;

-- name: PROCESS_SIGNAL
-- What a process became by exec has no row of its own if it did not use CUDA.
UPDATE process SET exit_signal = ?3
WHERE ended = 'killed' AND id = (SELECT max(id) FROM process WHERE pid = ?1 AND start_ticks = ?2);

-- name: THREAD_ALL
SELECT id, serial FROM thread WHERE process = ?;

-- name: THREAD_READ
SELECT records, name FROM thread WHERE id = ?;

-- name: THREAD_ADD
INSERT INTO thread (process, serial, tid, name, records) VALUES (?, ?, ?, ?, 0);

-- name: THREAD_RECORDS
UPDATE thread SET records = ?2 WHERE id = ?1;

-- name: THREAD_NAME
UPDATE thread SET name = ?2 WHERE id = ?1;

-- name: CONTEXT_ALL
SELECT id, handle FROM context WHERE process = ?;

-- name: CONTEXT_ADD
INSERT INTO context (process, handle) VALUES (?, ?);

-- name: STREAM_ALL
SELECT id, handle, kind, context, thread FROM stream WHERE process = ?;

-- name: STREAM_ADD
INSERT INTO stream (process, context, thread, handle, kind) VALUES (?, ?, ?, ?, ?);

-- name: KERNEL_ALL
SELECT id, number FROM kernel WHERE process = ?;

-- name: KERNEL_ADD
INSERT INTO kernel (process, number) VALUES (?, ?);

-- name: KERNEL_NAME
UPDATE kernel SET name = ?2, module = ?3, handle = ?4, named_ns = ?5 WHERE id = ?1;

-- name: MODULE_ALL
SELECT id, number FROM module WHERE process = ?;

-- name: MODULE_ADD
INSERT INTO module (process, number) VALUES (?, ?);

-- name: MODULE_UNLOAD
UPDATE module SET unloaded_ns = ?2 WHERE id = ?1;

-- name: CALL_NEXT
SELECT coalesce(max(id), 0) + 1 FROM call;

-- name: CALL_ADD
INSERT INTO call (id, thread, api, start_ns, duration_ns, result, stream, context, bytes, object,
    kernel, correlation) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- define: call
(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- define: four_calls
{call}, {call}, {call}, {call}

-- name: CALL_ADD_BATCH
-- GV_CALL_BATCH_ROWS of them
INSERT INTO call (id, thread, api, start_ns, duration_ns, result, stream, context, bytes, object,
    kernel, correlation)
VALUES {four_calls}, {four_calls}, {four_calls}, {four_calls};

-- name: CALL_MODULE
INSERT OR REPLACE INTO call_module (call, module) VALUES (?, ?);

-- name: LOAD_ADD
INSERT INTO load (thread, api, start_ns, duration_ns, result, kind, image, name, bytes, hash,
    handle, module, library)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: LOAD_CALL
UPDATE load SET call = ?2 WHERE id = ?1;

-- name: LOSS_SET
INSERT OR REPLACE INTO loss (process, what, class, count) VALUES (?, ?, ?, ?);

-- name: LOSS_ADD
INSERT INTO loss (process, what, class, count) VALUES (?, ?, ?, ?)
ON CONFLICT (process, what, class) DO UPDATE
SET count = count + excluded.count;

-- name: FLIGHT_CLEAR
DELETE FROM flight WHERE process = ?;

-- name: FLIGHT_ADD
INSERT INTO flight (process, thread_serial, tid, name, api, start_ns, kernel, stream_handle,
    seen_ns) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: FLIGHT_SEEN
UPDATE flight SET seen_ns = CASE WHEN ?2 > start_ns THEN ?2 END WHERE process = ?1;

-- name: OBJECT_ADD
INSERT INTO object (process, base, low, high, path, build_id) VALUES (?, ?, ?, ?, ?, ?);

-- name: OBJECT_AT
-- The newest one: what lay there before has been unmapped.
SELECT id, base, path FROM object
WHERE process = ?1 AND low <= ?2 AND high > ?2 ORDER BY id DESC LIMIT 1;

-- name: STACK_ADD
INSERT INTO stack (process, number) VALUES (?, ?);

-- name: STACK_FIND
SELECT id FROM stack WHERE process = ? AND number = ?;

-- name: FRAME_ADD
INSERT OR REPLACE INTO frame (stack, depth, kind, function, library, file, line, address, object)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: CALL_STACK
INSERT OR REPLACE INTO call_stack (call, stack) VALUES (?, ?);

-- name: CALL_FOLD
INSERT INTO call_fold (call, count, span_ns) VALUES (?, ?, ?);

-- name: CALL_DELAY
INSERT OR REPLACE INTO call_delay (call, delay_ns) VALUES (?, ?);

-- name: PROCESS_GPU
UPDATE process
SET gpu = ?2, gpu_why = ?3, cupti_version = ?4, cupti_library = ?5, gpu_flushed_ns = ?6
WHERE id = ?1;

-- name: DEVICE_ADD
INSERT INTO device (process, device, name, uuid, cc_major, cc_minor, multiprocessors, memory_bytes,
    clock_khz, memory_clock_khz) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: GPU_NAME_ALL
SELECT id, number FROM gpu_name WHERE process = ?;

-- name: GPU_NAME_ADD
INSERT INTO gpu_name (process, number, name, linkage) VALUES (?, ?, ?, ?);

-- name: GPU_SHAPE_ALL
SELECT id, number FROM gpu_shape WHERE process = ?;

-- name: GPU_NAME_MADE
-- The program's own numbers are above 0.
INSERT INTO gpu_name (process, number, name, linkage)
SELECT ?1, min(0, coalesce(min(number), 0)) - 1, ?2, ?3 FROM gpu_name WHERE process = ?1;

-- name: GPU_SHAPE_ADD
INSERT INTO gpu_shape (process, number, name, grid_x, grid_y, grid_z, block_x, block_y, block_z,
    registers, static_shared_bytes, dynamic_shared_bytes, local_bytes)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: GPU_PLACE_ALL
SELECT id, device, context, stream FROM gpu_place WHERE process = ?;

-- name: GPU_PLACE_ADD
INSERT INTO gpu_place (process, device, context, stream) VALUES (?, ?, ?, ?);

-- name: GPU_OP_ADD
INSERT INTO gpu_op (place, kind, shape, start_ns, duration_ns, call, bytes, copy_kind, graph_node,
    correlation) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: GPU_OP_CALL
UPDATE gpu_op SET call = ?2, correlation = NULL WHERE id = ?1;

-- name: JIT_ADD
INSERT INTO jit (process, start_ns, duration_ns, operation, entry, cache_bytes, device, call,
    correlation) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: JIT_CALL
UPDATE jit SET call = ?2, correlation = NULL WHERE id = ?1;

-- name: OVERHEAD_ADD
INSERT INTO overhead (process, kind, start_ns, duration_ns, tid) VALUES (?, ?, ?, ?, ?);

-- name: GPU_MODULE_ADD
INSERT INTO gpu_module (process, number, at_ns, bytes, hash, tid, call, correlation)
VALUES (?, ?, ?, ?, ?, ?, ?, ?);

-- name: GPU_MODULE_CALL
UPDATE gpu_module SET call = ?2, correlation = NULL WHERE id = ?1;

-- name: KNOWN_ADD
-- report/collect/known.c makes the table.
INSERT OR REPLACE INTO temp.known (known, part_1, part_2, part_3, value) VALUES (?, ?, ?, ?, ?);

-- name: KNOWN_FIND
SELECT value FROM temp.known WHERE known = ? AND part_1 = ? AND part_2 = ? AND part_3 = ?;

-- name: KNOWN_CLEAR
DELETE FROM temp.known WHERE known = ?;

-- name: DEVICE_FIND
SELECT 1 FROM device WHERE uuid = ? LIMIT 1;

-- name: PROCESS_PID
SELECT 1 FROM process WHERE pid = ? LIMIT 1;

-- name: OTHER_ADD
INSERT INTO other_process (uuid, first_ns, last_ns, started, ended) VALUES (?1, ?2, ?2, ?3, 0);

-- name: OTHER_SEEN
UPDATE other_process SET pid = nullif(?2, 0), name = nullif(?3, ''), last_ns = ?4, ended = ?5
WHERE id = ?1;

-- name: SAMPLE_ADD
INSERT INTO sample (uuid, at_ns, gpu_percent, memory_percent, memory_used_bytes, power_mw,
    sm_clock_mhz, memory_clock_mhz, temperature_c)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: GPU_INTERVAL
INSERT OR REPLACE INTO gpu_interval (process, number, start_ns, end_ns) VALUES (?, 1, ?, ?);

-- name: GPU_LOSS_CLEAR
DELETE FROM loss WHERE process = ? AND class IN ('last flush', 'missing');
