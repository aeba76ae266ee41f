-- The same kind of loop without the GPU's side: after each synchronisation the GPU has nothing to do,
-- at least until the next launch.
INSERT INTO meta VALUES ('state', 'complete'), ('stalls', 1), ('machine', 'x86_64'), ('session', 'inferred_idle'), ('program', 'serve.py'), ('arguments', 'python serve.py'), ('host', 'box'), ('driver_version', 13000), ('start_unix_ns', 1700000000000000000), ('stall_threshold_ns', 1000000);
INSERT INTO api (id, name, class, gpu_work) VALUES (2, 'cuLaunchKernel', 'launch', 1), (3, 'cuCtxSynchronize', 'sync', 0);
INSERT INTO process (id, identity, pid, parent_pid, program, arguments, start_ns, end_ns, ended, exit_code, driver_version, gpu, gpu_why, cupti_version) VALUES (1, 1, 4242, 4000, 'serve.py', 'python serve.py', 0, 10000000000, 'exit', 0, 13000, 'host-only', 'no libcupti was found: set GPUVERIFY_CUPTI', NULL);
INSERT INTO thread VALUES (1, 1, 1, 4242, 'python', 10);
INSERT INTO context VALUES (1, 1, 4096);
INSERT INTO kernel (id, process, number, name) VALUES (1, 1, 1, 'solve');
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 4)
INSERT INTO call SELECT 10 + 2 * i, 1, 2, 1000000000 + i * 1000000000, 10000, 0, 1, 1, NULL, NULL, 1, NULL FROM n
UNION ALL SELECT 11 + 2 * i, 1, 3, 1000020000 + i * 1000000000, 99980000, 0, NULL, NULL, NULL, NULL, NULL, NULL FROM n;
INSERT INTO stack VALUES (1, 1, 1);
INSERT INTO frame (stack, depth, kind, function, library, file, line, address) VALUES (1, 0, 'python', 'serve', NULL, '/home/u/serve.py', 33, NULL);
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 44)
INSERT INTO idle_sample (process, thread, at_ns, span_ns, about, state, system_call, target, signs, pid_or_tid, stack, other_stack, delay_ns, text)
SELECT 1, 1, 1105000000 + r.i * 1000000000 + l.i * 20000000, 20000000, 0, 'S', 230, 0, 0, NULL, 1, NULL, 0, NULL FROM n l, n r WHERE r.i < 4;
