-- One call takes most of the run and nothing explains it; two others have reasons, one of which is that their thread had no processor.
INSERT INTO meta VALUES ('state', 'complete'), ('stalls', 5), ('session', 'stored'), ('program', 'loop');
INSERT INTO api (id, name, class) VALUES (1, 'cuLaunchKernel', 'launch'), (2, 'cuModuleLoadData', 'load'), (3, 'cuEventQuery', 'event');
INSERT INTO process (id, identity, pid, program, start_ns, end_ns, ended, exit_code, gpu) VALUES (1, 1, 4242, 'loop', 0, 500000000, 'exit', 0, 'cupti');
INSERT INTO thread (id, process, serial, tid, name, records) VALUES (1, 1, 1, 4242, 'loop', 8);
INSERT INTO context (id, process, handle) VALUES (1, 1, 1);
INSERT INTO stream VALUES (1, 1, 1, NULL, 7, 'created');
INSERT INTO kernel (id, process, number, name) VALUES (1, 1, 1, 'spin');
INSERT INTO device (id, process, device, name, multiprocessors) VALUES (1, 1, 0, 'GPU', 100);
INSERT INTO gpu_name VALUES (1, 1, 1, 'spin', 'spin');
INSERT INTO gpu_shape (id, process, number, name, grid_x, grid_y, grid_z) VALUES (1, 1, 1, 1, 100, 1, 1);
INSERT INTO gpu_place VALUES (1, 1, 0, 1, 7);
INSERT INTO call (id, thread, api, start_ns, duration_ns, result, stream, context, kernel) VALUES
    (1, 1, 1, 100000000, 5000, 0, 1, 1, 1), (2, 1, 2, 100010000, 30190000, 0, NULL, 1, NULL),
    (3, 1, 3, 140000000, 40000000, 0, NULL, 1, NULL), (4, 1, 3, 190000000, 213000000, 0, NULL, 1, NULL),
    (5, 1, 1, 404000000, 5000, 0, 1, 1, 1);
INSERT INTO call_delay VALUES (3, 39000000);
INSERT INTO gpu_op SELECT id, 1, 1, 1, start_ns + 6000, 30000000, id, NULL, NULL, NULL, NULL FROM call WHERE api = 1;
INSERT INTO stall_advice VALUES (1, 'Load it before the loop.'), (2, 'Give it a processor.'), (3, 'Nothing is known.');
INSERT INTO stall (id, call, cause, expected, jit_ns, wait_ns, work_ns, waited_for, drained_count, drained_ns, confidence, advice) VALUES
    (1, 2, 'module-load', 0, 0, 29996000, 194000, 1, 1, 30000000, 'measured', 1),
    (2, 3, 'descheduled', 0, 0, 39000000, 1000000, NULL, NULL, NULL, 'measured', 2),
    (3, 4, 'unknown', 0, 0, 213000000, 0, NULL, NULL, NULL, 'measured', 3);
