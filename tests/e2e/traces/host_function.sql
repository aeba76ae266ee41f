-- Two calls behind host functions: a load behind one with a name, and a free behind one without. Only the calls are recorded.
INSERT INTO meta VALUES ('state', 'complete'), ('session', 'stored'), ('program', 'loop');
INSERT INTO api (id, name, class) VALUES (1, 'cuLaunchHostFunc', 'launch'), (2, 'cuModuleLoadData', 'load'), (3, 'cuStreamAddCallback', 'stream'),
    (4, 'cuMemFree_v2', 'free'), (5, 'cuCtxSynchronize', 'sync');
INSERT INTO process (id, identity, pid, program, start_ns, end_ns, ended, exit_code, gpu) VALUES (1, 1, 4242, 'loop', 0, 1000000000, 'exit', 0, 'host-only');
INSERT INTO thread (id, process, serial, tid, name, records) VALUES (1, 1, 1, 4242, 'loop', 5), (2, 1, 2, 4245, 'cuda-EvtHandlr', 3);
INSERT INTO context (id, process, handle) VALUES (1, 1, 1);
INSERT INTO stream VALUES (1, 1, 1, NULL, 7, 'created');
INSERT INTO call (id, thread, api, start_ns, duration_ns, result, stream, context) VALUES
    (1, 1, 1, 100000000, 9000, 0, 1, 1), (2, 1, 2, 100010000, 501190000, 0, NULL, 1), (3, 1, 3, 610000000, 9000, 0, 1, 1),
    (4, 1, 4, 610010000, 200100000, 0, NULL, 1), (5, 1, 1, 820000000, 9000, 0, 1, 1), (6, 1, 5, 820010000, 50030000, 0, NULL, 1);
INSERT INTO stack VALUES (1, 1, 1), (2, 1, 2), (3, 1, 3);
INSERT INTO frame (stack, depth, kind, function, library, file, line, address) VALUES
    (1, 0, 'native', 'prepare(void*)', '/home/u/loop', '/home/u/prepare.cpp', 12, 4660),
    (2, 0, 'native', 'main', '/home/u/loop', '/home/u/loop.cpp', 31, 4700), (3, 0, 'native', NULL, NULL, NULL, NULL, 140000000);
INSERT INTO call_stack VALUES (1, 2), (2, 2);
INSERT INTO call_stack_of_other VALUES (2);
INSERT INTO host_function (process, number, call, stack, thread, start_ns, duration_ns) VALUES
    (1, 1, 1, 1, 2, 100050000, 501000000), (1, 2, 3, 3, 2, 610050000, 200000000), (1, 3, 5, 1, 2, 820050000, 49900000);
