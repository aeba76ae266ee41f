-- Every statement that writes or resumes a trace.

-- name: OPEN
-- A killed collector leaves its pages in the page cache, so the journal can roll back without any
-- sync. Only a power failure can damage the file.
PRAGMA page_size = 4096;
PRAGMA synchronous = OFF;
PRAGMA cache_size = -16384;
PRAGMA temp_store = FILE;
PRAGMA trusted_schema = OFF;

-- name: META_SET
INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?);

-- name: META_SESSION
-- What leads to the rest of the records.
INSERT OR REPLACE INTO meta (key, value)
VALUES ('session', ?1), ('spool_directory', ?2), ('state', 'recording');

-- name: META_FIRST
INSERT OR REPLACE INTO meta (key, value)
VALUES ('schema_version', ?1), ('gpuverify_version', ?2), ('host', ?3), ('clock', ?4),
    ('unix_offset_ns', ?5), ('start_unix_ns', ?5), ('watchdog_ns', ?6), ('machine', ?7),
    ('program', (SELECT program FROM process ORDER BY id LIMIT 1)),
    ('arguments', (SELECT arguments FROM process ORDER BY id LIMIT 1)),
    ('directory', (SELECT directory FROM process ORDER BY id LIMIT 1));

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

-- name: PROCESS_RANK
INSERT INTO process_rank (process, rank, local_rank, world_size, job, host, container)
VALUES (?1, nullif(?2, -1), nullif(?3, -1), nullif(?4, -1), nullif(?5, ''), nullif(?6, ''), nullif(?7, ''));

-- name: VARIABLE_CLEAR
DELETE FROM variable WHERE process = ?;

-- name: VARIABLE_ADD
INSERT INTO variable (process, name, value) VALUES (?, ?, ?);

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

-- name: THREAD_READ
SELECT records, name FROM thread WHERE id = ?;

-- name: THREAD_ADD
INSERT INTO thread (process, serial, tid, name, records) VALUES (?, ?, ?, ?, 0);

-- name: THREAD_OF_TID
SELECT id FROM thread WHERE process = ? AND tid = ? AND serial < 1 << 61 ORDER BY serial DESC LIMIT 1;

-- name: THREAD_RECORDS
UPDATE thread SET records = ?2 WHERE id = ?1;

-- name: THREAD_NAME
UPDATE thread SET name = ?2 WHERE id = ?1;

-- name: CONTEXT_ADD
INSERT INTO context (process, handle) VALUES (?, ?);

-- name: CONTEXT_DEVICE
INSERT OR REPLACE INTO context_device (context, device) VALUES (?, ?);

-- name: STREAM_ADD
INSERT INTO stream (process, context, thread, handle, kind) VALUES (?, ?, ?, ?, ?);

-- name: KERNEL_ADD
INSERT INTO kernel (process, number) VALUES (?, ?);

-- name: KERNEL_NAME
UPDATE kernel SET name = ?2, module = ?3, handle = ?4, named_ns = ?5 WHERE id = ?1;

-- name: MODULE_ADD
INSERT INTO module (process, number) VALUES (?, ?);

-- name: MODULE_UNLOAD
UPDATE module SET unloaded_ns = ?2 WHERE id = ?1;

-- name: CALL_NEXT
SELECT coalesce(max(id), 0) + 1 FROM call;

-- name: LAST_GPU_OP
SELECT max(id) FROM gpu_op;

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

-- name: CALL_OBJECT
INSERT OR REPLACE INTO call_object (call, object) VALUES (?, ?);

-- name: HOST_FUNCTION_LAUNCHED
INSERT INTO host_function (process, number, call, stack) VALUES (?, ?, ?, ?)
ON CONFLICT (process, number) DO UPDATE
SET call = excluded.call, stack = excluded.stack;

-- name: HOST_FUNCTION_RAN
INSERT INTO host_function (process, number, thread, start_ns, duration_ns) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (process, number) DO UPDATE
SET thread = excluded.thread, start_ns = excluded.start_ns, duration_ns = excluded.duration_ns;

-- name: RANGE_TEXT_ADD
INSERT INTO range_text (process, number, text) VALUES (?, ?, ?);

-- name: RANGE_TEXT_SET
UPDATE range_text SET text = ?2 WHERE id = ?1;

-- name: RANGE_ADD
INSERT INTO range (thread, kind, domain, text, category, category_name, color, payload, start_ns,
    duration_ns, number, depth, parent)
VALUES (?, ?, ?, ?, ?, ?, ?, CAST(? AS NUMERIC), ?, ?, ?, ?, ?);

-- name: CALL_RANGE
INSERT INTO call_range (thread, call, range) VALUES (?, ?, nullif(?, 0));

-- name: RANGE_END
UPDATE range SET duration_ns = ?2 WHERE id = ?1;

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

-- name: COST_SET
INSERT OR REPLACE INTO cost (process, what, count, total_ns, spared) VALUES (?, ?, ?, ?, ?);

-- name: COST_ADD
INSERT INTO cost (process, what, count, total_ns, spared) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (process, what) DO UPDATE
SET count = count + excluded.count, total_ns = total_ns + excluded.total_ns;

-- name: FLIGHT_CLEAR
DELETE FROM flight WHERE process = ?;

-- name: FLIGHT_ADD
INSERT INTO flight (process, thread_serial, tid, name, api, start_ns, kernel, stream_handle,
    seen_ns) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: FLIGHT_SEEN
UPDATE flight SET seen_ns = CASE WHEN ?2 > start_ns THEN ?2 END WHERE process = ?1;

-- name: OBJECT_ADD
INSERT INTO object (process, base, low, high, path, build_id) VALUES (?, ?, ?, ?, ?, ?);

-- name: STACK_ADD
INSERT INTO stack (process, number) VALUES (?, ?);

-- name: STACK_ADD_OWN
-- One that has no number in the process.
INSERT INTO stack (process, number)
SELECT ?1, min(0, coalesce(min(number), 0)) - 1 FROM stack WHERE process = ?1;

-- name: STACK_FIND
SELECT id FROM stack WHERE process = ? AND number = ?;

-- name: STACK_END
INSERT OR REPLACE INTO stack_end (stack, how) VALUES (?, ?);

-- name: FRAME_NATIVE
INSERT OR REPLACE INTO frame (stack, depth, kind, library, address, object)
VALUES (?1, ?2, 'native', nullif(?3, ''), ?4, ?5);

-- name: FRAME_PYTHON
INSERT OR REPLACE INTO frame (stack, depth, kind, function, file, line)
VALUES (?1, ?2, 'python', nullif(?3, ''), nullif(?4, ''), ?5);

-- name: FRAME_PYTHON_COUNT
SELECT count(*) FROM frame WHERE stack = ? AND kind = 'python';

-- name: FRAME_PYTHON_COPY
INSERT INTO frame SELECT ?2, depth, kind, function, library, file, line, address, object
FROM frame WHERE stack = ?1 AND kind = 'python';

-- name: PYTHON_CODE_ADD
INSERT OR IGNORE INTO python_code (process, number, file, function, first_line, line_table, minor, is_interpreters)
VALUES (?, ?, ?, ?, ?, ?, ?, ?);

-- name: PYTHON_CODE_FIND
SELECT file, function, first_line, line_table, minor, is_interpreters FROM python_code WHERE process = ? AND number = ?;

-- name: PYTHON_CODE_CLEAR
DELETE FROM python_code WHERE process = ?;

-- name: FRAME_NAME
UPDATE frame SET function = ?3, file = ?4, line = ?5
WHERE object = ?1 AND address = ?2 AND function IS NULL;

-- name: FRAME_RUNTIME
UPDATE frame SET kind = 'runtime' WHERE stack = ? AND depth = ?;

-- name: IDLE_SAMPLE_ADD
INSERT INTO idle_sample (process, thread, at_ns, span_ns, about, state, system_call, target, signs,
    pid_or_tid, stack, other_stack, delay_ns, cpu_ns, text)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: CALL_STACK
INSERT OR REPLACE INTO call_stack (call, stack) VALUES (?, ?);

-- name: CALL_STACK_OF_OTHER
INSERT OR REPLACE INTO call_stack_of_other (call) VALUES (?);

-- name: CALL_SAMPLE
INSERT OR REPLACE INTO call_sample (call, one_of) VALUES (?, ?);

-- name: COLLECTIVE_ADD
INSERT INTO collective (call, kind, communicator, sequence, rank, size, count, type, bytes, root_or_peer)
VALUES (?1, ?2, ?3, nullif(?4, -1), nullif(?5, -1), nullif(?6, -1), ?7, ?8, nullif(?9, -1), nullif(?10, -1));

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

-- name: GPU_NAME_ADD
INSERT INTO gpu_name (process, number, name, linkage) VALUES (?, ?, ?, ?);

-- name: GPU_NAME_MADE
-- The program's own numbers are above 0.
INSERT INTO gpu_name (process, number, name, linkage)
SELECT ?1, min(0, coalesce(min(number), 0)) - 1, ?2, ?3 FROM gpu_name WHERE process = ?1;

-- name: GPU_SHAPE_ADD
INSERT INTO gpu_shape (process, number, name, grid_x, grid_y, grid_z, block_x, block_y, block_z,
    registers, static_shared_bytes, dynamic_shared_bytes, local_bytes)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

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

-- name: OTHER_ADD
-- Only of devices of the trace.
INSERT INTO other_process (uuid, first_ns, last_ns, started, ended)
SELECT ?1, ?2, ?2, ?3, 0 WHERE EXISTS (SELECT 1 FROM device WHERE uuid = ?1);

-- name: OTHER_SEEN
UPDATE other_process SET pid = nullif(?2, 0), name = nullif(?3, ''), last_ns = ?4, ended = ?5
WHERE id = ?1;

-- name: OTHER_MEMORY
INSERT OR REPLACE INTO other_process_memory (other, bytes) VALUES (?, ?);

-- name: SAMPLE_ADD
-- Only of devices of the trace. Unknown values are -1.
INSERT INTO sample (uuid, at_ns, gpu_percent, memory_percent, memory_used_bytes, power_mw,
    sm_clock_mhz, memory_clock_mhz, temperature_c)
SELECT ?1, ?2, nullif(?3, -1), nullif(?4, -1), nullif(?5, -1), nullif(?6, -1), nullif(?7, -1),
    nullif(?8, -1), nullif(?9, -1)
WHERE EXISTS (SELECT 1 FROM device WHERE uuid = ?1);

-- name: GPU_INTERVAL
INSERT OR REPLACE INTO gpu_interval (process, number, start_ns, end_ns) VALUES (?, 1, ?, ?);

-- name: GPU_NOTE
INSERT OR REPLACE INTO gpu_note (process, at_ns, gpu, profiler) VALUES (?, ?, ?, ?);

-- name: GPU_WINDOW
INSERT OR REPLACE INTO gpu_window (process, start_ns, end_ns) VALUES (?, ?, ?);

-- name: RECORDING_CHANGE
INSERT OR REPLACE INTO recording_change (process, number, at_ns) VALUES (?, ?, ?);

-- name: RECORDING_BEGAN_STOPPED
-- If the first change has no record.
INSERT OR IGNORE INTO recording_change (process, number, at_ns)
SELECT id, 1, start_ns FROM process WHERE id = ?1
    AND NOT EXISTS (SELECT 1 FROM recording_change WHERE process = ?1 AND number < 0);

-- name: MARK_THREAD
INSERT OR IGNORE INTO thread (id, process, serial, name, records)
SELECT (SELECT id FROM thread WHERE process = ?1 AND serial = ?2), ?1, ?2, 'gpuverify', 0;

-- name: MARK_TEXT
-- A text without a number, once in a process.
INSERT INTO range_text (process, text)
SELECT ?1, ?2 WHERE NOT EXISTS (SELECT 1 FROM range_text
    WHERE process = ?1 AND number IS NULL AND text = ?2);

-- name: MARK_ADD
INSERT INTO range (thread, kind, domain, text, start_ns, duration_ns)
SELECT (SELECT id FROM thread WHERE process = ?1 AND serial = ?2), 3,
    (SELECT min(id) FROM range_text WHERE process = ?1 AND number IS NULL AND text = ?3),
    (SELECT min(id) FROM range_text WHERE process = ?1 AND number IS NULL AND text = ?4), ?5, 0;

-- name: GPU_LOSS_CLEAR
DELETE FROM loss WHERE process = ? AND class IN ('last flush', 'missing');
