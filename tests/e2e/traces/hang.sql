-- A launch whose process was killed in it, of a kernel with a name as it is linked; and calls of processes
-- that run on, that became another program, that ended, and of which the signal is known.
INSERT INTO meta VALUES ('state', 'complete'), ('stalls', 5), ('session', 'stored'), ('program', 'train');
INSERT INTO process (id, identity, pid, program, start_ns, end_ns, ended, gpu) VALUES (1, 1, 4242, 'train', 0, 9000000000, 'killed', 'off');
INSERT INTO thread (id, process, serial, tid, name, records) VALUES (1, 1, 1, 4242, 'train', 2);
INSERT INTO context (id, process, handle) VALUES (1, 1, 1);
INSERT INTO api (id, name, class) VALUES (1, 'cuLaunchKernel', 'launch');
INSERT INTO module (id, process, number) VALUES (1, 1, 1);
INSERT INTO kernel (id, process, number, name, module) VALUES (1, 1, 1, '_ZN2at6native4spinIfEEvPT_', 1),
    (2, 1, 2, '_ZN2at6native5reachIfEEvPT_', 1);
INSERT INTO call (id, thread, api, start_ns, duration_ns, result, context, kernel) VALUES (1, 1, 1, 1000000000, 5000, 0, 1, 1);
INSERT INTO flight (process, thread_serial, tid, name, api, start_ns, kernel, seen_ns, cause, confidence, state, advice) VALUES
    (1, 1, 4242, 'train', 1, 2000000000, 2, 8000000000, 'lazy-load', 'inferred', 'It waits for spin<float>. Load of the GPU: that kernel alone.', 'Load reach<float> before the program launches spin<float>.');
INSERT INTO process (id, identity, pid, program, start_ns, end_ns, ended, exit_code, exit_signal, gpu) VALUES
    (2, 2, 4243, 'train', 0, NULL, NULL, NULL, NULL, 'off'), (3, 3, 4244, 'train', 0, 9000000000, 'exec', NULL, NULL, 'off'),
    (4, 4, 4245, 'train', 0, 9000000000, 'exit', 3, NULL, 'off'), (5, 5, 4246, 'train', 0, 9000000000, 'killed', NULL, 11, 'off');
INSERT INTO thread (id, process, serial, tid, name, records) SELECT id, id, 1, pid, 'train', 0 FROM process WHERE id > 1;
INSERT INTO flight (process, thread_serial, tid, name, api, start_ns, seen_ns, cause, confidence)
    SELECT id, 1, pid, 'train', 1, 2000000000 + id, CASE WHEN id > 2 THEN 8000000000 END, 'unknown', 'inferred' FROM process WHERE id > 1;
