-- A simulation on the CPU that uses the GPU now and then: four kernels of 100 ms in 41 s.
INSERT INTO meta VALUES ('state', 'complete'), ('stalls', 1), ('machine', 'x86_64'), ('session', 'mostly_host'), ('program', 'model.py'), ('arguments', 'python model.py'), ('host', 'box'), ('driver_version', 13000), ('start_unix_ns', 1700000000000000000), ('stall_threshold_ns', 1000000);
INSERT INTO api (id, name, class, gpu_work) VALUES (2, 'cuLaunchKernel', 'launch', 1), (3, 'cuCtxSynchronize', 'sync', 0);
INSERT INTO process (id, identity, pid, parent_pid, program, arguments, start_ns, end_ns, ended, exit_code, driver_version, gpu, gpu_why, cupti_version) VALUES (1, 1, 4242, 4000, 'model.py', 'python model.py', 0, 41000000000, 'exit', 0, 13000, 'cupti', NULL, 130000);
INSERT INTO thread VALUES (1, 1, 1, 4242, 'python', 8);
INSERT INTO device (id, process, device, name, uuid, cc_major, cc_minor, multiprocessors, memory_bytes, clock_khz, memory_clock_khz) VALUES (1, 1, 0, 'NVIDIA H100 80GB HBM3', 'GPU-1', 9, 0, 132, 85899345920, 1980000, 2619000);
INSERT INTO context VALUES (1, 1, 4096);
INSERT INTO stream VALUES (1, 1, 1, NULL, 7, 'created');
INSERT INTO kernel (id, process, number, name) VALUES (1, 1, 1, 'solve');
INSERT INTO gpu_name VALUES (1, 1, 1, 'solve', 'solve');
INSERT INTO gpu_shape (id, process, number, name, grid_x, grid_y, grid_z, block_x, block_y, block_z, registers, static_shared_bytes, dynamic_shared_bytes, local_bytes) VALUES (1, 1, 1, 1, 264, 1, 1, 256, 1, 1, 64, 0, 0, 0);
INSERT INTO gpu_place VALUES (1, 1, 0, 1, 7);
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 3)
INSERT INTO call SELECT 10 + 2 * i, 1, 2, 999990000 + i * 10000000000, 10000, 0, 1, 1, NULL, NULL, 1, NULL FROM n
UNION ALL SELECT 11 + 2 * i, 1, 3, 1000000000 + i * 10000000000, 100000000, 0, NULL, NULL, NULL, NULL, NULL, NULL FROM n;
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 3)
INSERT INTO gpu_op SELECT 10 + 2 * i, 1, 1, 1, 1000000000 + i * 10000000000, 100000000, 10 + 2 * i, NULL, NULL, NULL, NULL FROM n;
INSERT INTO stack VALUES (1, 1, 1), (2, 1, 2), (3, 1, 3), (4, 1, 4);
INSERT INTO frame (stack, depth, kind, function, library, file, line, address) VALUES (1, 0, 'python', 'advance', NULL, '/home/u/model.py', 20, NULL), (2, 0, 'python', 'Tree.build', NULL, '/home/u/tree.py', 7, NULL), (3, 0, 'python', 'fetch', NULL, '/home/u/model.py', 44, NULL),
    (4, 0, 'python', '_call', NULL, '<frozen importlib._bootstrap>', 241, NULL), (4, 1, 'python', '<module>', NULL, '/home/u/model.py', 1, NULL);
-- Looks each 20 ms.
CREATE TEMP TABLE look (from_ns, until_ns, times, state, system_call, target, signs, stack);
INSERT INTO look VALUES (0, 1000000000, 1, 'R', -1, 0, 6, 4), (1100000000, 6100000000, 4, 'R', -1, 0, 6, 1),
    (6100000000, 9100000000, 4, 'R', -1, 0, 0, 2), (9100000000, 10999000000, 4, 'S', 0, 3, 0, 3);
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 250)
INSERT INTO idle_sample (process, thread, at_ns, span_ns, about, state, system_call, target, signs, pid_or_tid, stack, other_stack, delay_ns, text)
SELECT 1, 1, from_ns + r.i * 10000000000 + l.i * 20000000 + 5000000, 20000000, 0, state, system_call, target, signs, NULL, stack, NULL, 0, NULL
FROM look, n l, n r WHERE r.i < times AND from_ns + l.i * 20000000 + 5000000 < until_ns;
DROP TABLE look;
