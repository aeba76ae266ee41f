-- Calls that waited for another process: for a call of the session's other process, for the end of one outside of it with a hostile name, and for one without name and number.
INSERT INTO meta VALUES ('state', 'complete'), ('stalls', 5), ('session', 'stored'), ('program', 'serve');
INSERT INTO api (id, name, class) VALUES (1, 'cudaMemGetInfo', 'ask'), (2, 'cudaFree', 'free'), (3, 'cudaMalloc', 'alloc');
INSERT INTO process (id, identity, pid, program, start_ns, end_ns, ended, exit_code, gpu) VALUES (1, 1, 4242, 'serve', 0, 5000000000, 'exit', 0, 'off'),
    (2, 2, 4243, 'prepare', 0, 5000000000, 'exit', 0, 'off');
INSERT INTO thread (id, process, serial, tid, name, records) VALUES (1, 1, 1, 4242, 'serve', 3), (2, 2, 1, 4243, 'prepare', 1);
INSERT INTO context (id, process, handle) VALUES (1, 1, 1), (2, 2, 1);
INSERT INTO call (id, thread, api, start_ns, duration_ns, result, context, bytes) VALUES (1, 2, 2, 100000000, 21000000, 0, 2, NULL),
    (2, 1, 1, 101000000, 20050000, 0, 1, NULL), (3, 1, 3, 2000000000, 113000000, 0, 1, 1048576), (4, 1, 1, 4000000000, 29000000, 0, 1, NULL);
INSERT INTO stack VALUES (1, 1, 1), (2, 2, 1);
INSERT INTO frame (stack, depth, kind, function, file, line) VALUES (1, 0, 'python', 'answer', '/app/serve.py', 12), (2, 0, 'python', 'clean', '/app/prepare.py', 34);
INSERT INTO call_stack VALUES (2, 1), (1, 2);
INSERT INTO other_process VALUES (1, 'GPU-1', 77, char(27) || '[31mapp', 10000000, 2000000000, 0, 1), (2, 'GPU-1', NULL, NULL, 3900000000, 4900000000, 1, 0);
INSERT INTO stall_advice VALUES (1, 'Free in pieces.');
INSERT INTO stall (id, call, cause, expected, jit_ns, wait_ns, work_ns, blocked_by, confidence, advice) VALUES
    (1, 2, 'other-process', 0, 0, 20000000, 50000, 1, 'inferred', 1), (2, 3, 'other-process', 0, 0, 112700000, 300000, NULL, 'inferred', 1),
    (3, 4, 'other-process', 0, 0, 29000000, 0, NULL, 'inferred', 1);
INSERT INTO stall_other VALUES (1, 2, NULL, 'call'), (2, NULL, 1, 'end'), (3, NULL, 2, 'use');
