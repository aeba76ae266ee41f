-- More calls than could be stored filled shared memory, and what the GPU did found no room in it.
INSERT INTO meta VALUES ('state', 'complete'), ('stalls', 5), ('session', 'stored'), ('program', 'flood');
INSERT INTO process (id, identity, pid, program, start_ns, end_ns, ended, exit_code, gpu) VALUES (1, 1, 4242, 'flood', 0, 1500000000, 'exit', 0, 'cupti');
INSERT INTO thread (id, process, serial, tid, name, records) VALUES (1, 1, 1, 4242, 'flood', 8);
INSERT INTO context (id, process, handle) VALUES (1, 1, 1);
INSERT INTO api (id, name, class) VALUES (1, 'cuLaunchKernel', 'launch'), (2, 'cuEventRecord', 'event');
INSERT INTO kernel (id, process, number, name) VALUES (1, 1, 1, 'spin');
INSERT INTO call (id, thread, api, start_ns, duration_ns, result, context, kernel) VALUES (1, 1, 1, 400000000, 5000, 0, 1, 1),
    (2, 1, 2, 400010000, 300, 0, 1, NULL), (3, 1, 2, 400020000, 300, 0, 1, NULL), (4, 1, 2, 1400000000, 300, 0, 1, NULL);
INSERT INTO loss VALUES (1, 'call', 'event', 7194262), (1, 'GPU record', '', 5);
