-- A load that waits for a kernel, a launch, and then a wait for the stream: the GPU has work all the while.
-- Stall 5 is a copy that waits, and the next call waits for its stream.
-- Stall 3 waits for a kernel of another stream than the one that is waited for next: they could run at the same time.
INSERT INTO meta VALUES ('state', 'complete'), ('stalls', 5), ('session', 'stored'), ('program', 'loop');
INSERT INTO api (id, name, class) VALUES (1, 'cuLaunchKernel', 'launch'), (2, 'cuModuleLoadData', 'load'), (3, 'cuStreamSynchronize', 'sync'), (4, 'cuMemcpyDtoHAsync_v2', 'copy');
INSERT INTO process (id, identity, pid, program, start_ns, end_ns, ended, exit_code, gpu) VALUES (1, 1, 4242, 'loop', 0, 1000000000, 'exit', 0, 'cupti');
INSERT INTO thread (id, process, serial, tid, name, records) VALUES (1, 1, 1, 4242, 'loop', 8);
INSERT INTO context (id, process, handle) VALUES (1, 1, 1);
INSERT INTO stream VALUES (1, 1, 1, NULL, 7, 'created'), (2, 1, 2, NULL, 8, 'created');
INSERT INTO kernel (id, process, number, name) VALUES (1, 1, 1, 'spin');
INSERT INTO device (id, process, device, name, multiprocessors) VALUES (1, 1, 0, 'GPU', 100);
INSERT INTO gpu_name VALUES (1, 1, 1, 'spin', 'spin');
INSERT INTO gpu_shape (id, process, number, name, grid_x, grid_y, grid_z) VALUES (1, 1, 1, 1, 100, 1, 1);
INSERT INTO gpu_place VALUES (1, 1, 0, 1, 7), (2, 1, 0, 1, 8);
INSERT INTO call (id, thread, api, start_ns, duration_ns, result, stream, context, kernel) VALUES
    (1, 1, 1, 100000000, 5000, 0, 1, 1, 1), (2, 1, 2, 100010000, 200190000, 0, NULL, 1, NULL),
    (3, 1, 1, 300210000, 5000, 0, 1, 1, 1), (4, 1, 3, 300220000, 50100000, 0, 1, 1, NULL),
    (5, 1, 1, 350330000, 5000, 0, 1, 1, 1), (6, 1, 2, 350340000, 200190000, 0, NULL, 1, NULL),
    (7, 1, 1, 550540000, 5000, 0, 2, 1, 1), (8, 1, 3, 550550000, 50100000, 0, 2, 1, NULL),
    (9, 1, 1, 600660000, 5000, 0, 1, 1, 1), (10, 1, 4, 600670000, 50100000, 0, 1, 1, NULL), (11, 1, 3, 650780000, 3000, 0, 1, 1, NULL);
INSERT INTO gpu_op SELECT id, CASE id WHEN 7 THEN 2 ELSE 1 END, 1, 1, start_ns + 6000, CASE WHEN id IN (1, 5) THEN 200000000 ELSE 50000000 END,
    id, NULL, NULL, NULL, NULL FROM call WHERE api = 1;
INSERT INTO stall_advice VALUES (1, 'Load it before the loop.');
INSERT INTO stall (id, call, cause, expected, jit_ns, wait_ns, work_ns, waited_for, drained_count, drained_ns, confidence, advice) VALUES
    (1, 2, 'module-load', 0, 0, 199996000, 194000, 1, 1, 200000000, 'measured', 1),
    (2, 4, 'explicit-sync', 1, 0, 50100000, 0, 3, 1, 50000000, 'measured', NULL),
    (3, 6, 'module-load', 0, 0, 199996000, 194000, 5, 1, 200000000, 'measured', 1),
    (4, 8, 'explicit-sync', 1, 0, 50100000, 0, 7, 1, 50000000, 'measured', NULL),
    (5, 10, 'pageable-copy', 0, 0, 49996000, 104000, 9, 1, 50000000, 'measured', 1);
