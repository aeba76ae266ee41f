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

-- name: PROCESS_FIND
SELECT id FROM process WHERE identity = ?;

-- name: VARIABLE_CLEAR
DELETE FROM variable WHERE process = ?;

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

-- name: THREAD_OF_TID
SELECT id FROM thread WHERE process = ? AND tid = ? AND serial < 1 << 61 ORDER BY serial DESC LIMIT 1;

-- name: THREAD_RECORDS
UPDATE thread SET records = ?2 WHERE id = ?1;

-- name: THREAD_NAME
UPDATE thread SET name = ?2 WHERE id = ?1;

-- name: KERNEL_NAME
UPDATE kernel SET name = ?2, module = ?3, handle = ?4, named_ns = ?5 WHERE id = ?1;

-- name: MODULE_UNLOAD
UPDATE module SET unloaded_ns = ?2 WHERE id = ?1;

-- name: CALL_NEXT
SELECT coalesce(max(id), 0) + 1 FROM call;

-- name: LAST_GPU_OP
SELECT max(id) FROM gpu_op;

-- name: HOST_FUNCTION_LAUNCHED
INSERT INTO host_function (process, number, call, stack) VALUES (?, ?, ?, ?)
ON CONFLICT (process, number) DO UPDATE
SET call = excluded.call, stack = excluded.stack;

-- name: HOST_FUNCTION_RAN
INSERT INTO host_function (process, number, thread, start_ns, duration_ns) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (process, number) DO UPDATE
SET thread = excluded.thread, start_ns = excluded.start_ns, duration_ns = excluded.duration_ns;

-- name: RANGE_TEXT_SET
UPDATE range_text SET text = ?2 WHERE id = ?1;

-- name: RANGE_ADD
INSERT INTO range (thread, kind, domain, text, category, category_name, color, payload, start_ns,
    duration_ns, number, depth, parent)
VALUES (?, ?, ?, ?, ?, ?, ?, CAST(? AS NUMERIC), ?, ?, ?, ?, ?);

-- name: RANGE_END
UPDATE range SET duration_ns = ?2 WHERE id = ?1;

-- name: LOAD_CALL
UPDATE load SET call = ?2 WHERE id = ?1;

-- name: LOSS_ADD
INSERT INTO loss (process, what, class, count) VALUES (?, ?, ?, ?)
ON CONFLICT (process, what, class) DO UPDATE
SET count = count + excluded.count;

-- name: COST_ADD
INSERT INTO cost (process, what, count, total_ns, spared) VALUES (?, ?, ?, ?, 0)
ON CONFLICT (process, what) DO UPDATE
SET count = count + excluded.count, total_ns = total_ns + excluded.total_ns;

-- name: FLIGHT_CLEAR
DELETE FROM flight WHERE process = ?;

-- name: FLIGHT_SEEN
UPDATE flight SET seen_ns = CASE WHEN ?2 > start_ns THEN ?2 END WHERE process = ?1;

-- name: STACK_ADD_OWN
-- One that has no number in the process.
INSERT INTO stack (process, number)
SELECT ?1, min(0, coalesce(min(number), 0)) - 1 FROM stack WHERE process = ?1;

-- name: GRAPH_NODE_ADDED
-- CUPTI also says of a clone that it was added.
INSERT OR IGNORE INTO graph_node (process, node, stack) VALUES (?1, ?2, nullif(?3, 0));

-- name: GRAPH_NODE_CLONED
-- Of a clone of one that is not stored yet, once the trace is complete.
INSERT OR REPLACE INTO graph_node (process, node, original, stack)
SELECT ?1, ?2, CASE WHEN o.node IS NULL THEN ?3 ELSE o.original END, o.stack
FROM (SELECT 1) LEFT JOIN graph_node o ON o.process = ?1 AND o.node = ?3;

-- name: STACK_FIND
SELECT id FROM stack WHERE process = ? AND number = ?;

-- name: FRAME_PYTHON_COUNT
SELECT count(*) FROM frame WHERE stack = ? AND kind = 'python';

-- name: FRAME_PYTHON_CLOSE
-- The hidden frame at ?2 was counted: those behind it move up by one.
UPDATE OR REPLACE frame SET depth = depth - 1 WHERE stack = ?1 AND depth > ?2 AND depth < ?3;

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

-- name: FRAME_INLINED
INSERT INTO temp.inlined (object, address, function, file, line, level) VALUES (?, ?, ?, ?, ?, ?);

-- name: FRAME_RUNTIME
UPDATE frame SET kind = 'runtime' WHERE stack = ? AND depth = ?;

-- name: PROCESS_GPU
UPDATE process
SET gpu = ?2, gpu_why = ?3, cupti_version = ?4, cupti_library = ?5, gpu_flushed_ns = ?6
WHERE id = ?1;

-- name: GPU_NAME_MADE
-- The program's own numbers are above 0.
INSERT INTO gpu_name (process, number, name, linkage)
SELECT ?1, min(0, coalesce(min(number), 0)) - 1, ?2, ?3 FROM gpu_name WHERE process = ?1;

-- name: GPU_OP_CALL
UPDATE gpu_op SET call = ?2, correlation = NULL WHERE id = ?1;

-- name: GPU_SAMPLE_CALL
UPDATE gpu_sample SET call = ?2, correlation = NULL WHERE id = ?1;

-- name: JIT_CALL
UPDATE jit SET call = ?2, correlation = NULL WHERE id = ?1;

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

-- name: SAMPLE_ADD
-- Only of devices of the trace. Unknown values are -1.
INSERT INTO sample (uuid, at_ns, gpu_percent, memory_percent, memory_used_bytes, power_mw,
    sm_clock_mhz, memory_clock_mhz, temperature_c)
SELECT ?1, ?2, nullif(?3, -1), nullif(?4, -1), nullif(?5, -1), nullif(?6, -1), nullif(?7, -1),
    nullif(?8, -1), nullif(?9, -1)
WHERE EXISTS (SELECT 1 FROM device WHERE uuid = ?1);

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
