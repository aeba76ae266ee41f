-- Host-only: PTX is loaded behind a launch, for the first time and again. Whether the first load waited or compiled is not known.
INSERT INTO meta VALUES ('state', 'complete'), ('session', 'stored'), ('program', 'compile');
INSERT INTO process (id, identity, pid, program, start_ns, end_ns, ended, exit_code, gpu) VALUES (1, 1, 4242, 'compile', 0, 1000000000, 'exit', 0, 'off');
INSERT INTO thread (id, process, serial, tid, name, records) VALUES (1, 1, 1, 4242, 'compile', 8);
INSERT INTO context (id, process, handle) VALUES (1, 1, 1);
INSERT INTO stream VALUES (1, 1, 1, NULL, 7, 'created');
INSERT INTO api (id, name, class) VALUES (1, 'cuLaunchKernel', 'launch'), (2, 'cuModuleLoadData', 'load'), (3, 'cuStreamSynchronize', 'sync');
INSERT INTO module (id, process, number) VALUES (1, 1, 1);
INSERT INTO kernel (id, process, number, name, module) VALUES (1, 1, 1, 'k6', 1);
INSERT INTO call (id, thread, api, start_ns, duration_ns, result, stream, context, kernel) VALUES
    (1, 1, 1, 100000000, 5000, 0, 1, 1, 1), (2, 1, 2, 100010000, 80000000, 0, NULL, 1, NULL),
    (3, 1, 1, 180020000, 5000, 0, 1, 1, 1), (4, 1, 2, 180030000, 20000000, 0, NULL, 1, NULL),
    (5, 1, 1, 200040000, 5000, 0, 1, 1, 1), (6, 1, 3, 300000000, 1000, 0, 1, 1, NULL);
INSERT INTO load (id, thread, api, call, start_ns, duration_ns, result, kind, image, bytes, hash) VALUES
    (1, 1, 2, 2, 100010000, 80000000, 0, 'module', 'ptx', 75, 4711), (2, 1, 2, 4, 180030000, 20000000, 0, 'module', 'ptx', 75, 4711);
