-- A service that ran for three days, of which the last ten minutes are kept in full: from noon of the second
-- day on it waits for data, from 15:00 on a kernel takes longer, and in the last night it loads modules.
INSERT INTO meta VALUES ('state', 'complete'), ('stalls', 1), ('machine', 'x86_64'), ('session', 'days'), ('program', 'serve.py'), ('arguments', 'python serve.py'), ('host', 'box'), ('driver_version', 13000), ('start_unix_ns', 1700000000000000000), ('full_from_ns', 259200000000000);
INSERT INTO api (id, name, class, kind, gpu_work) VALUES (1, 'cuInit', 'init', NULL, 0), (2, 'cuLaunchKernel', 'launch', NULL, 1), (3, 'cuModuleLoadData', 'load', NULL, 0);
INSERT INTO process (id, identity, pid, parent_pid, program, arguments, start_ns, end_ns, ended, exit_code, driver_version, gpu, gpu_why, cupti_version) VALUES (1, 1, 4242, 4000, 'serve.py', 'python serve.py', 0, 259800000000000, 'exit', 0, 13000, 'cupti', NULL, 130000);
INSERT INTO thread VALUES (1, 1, 1, 4242, 'python', 20);
INSERT INTO device (id, process, device, name, uuid, cc_major, cc_minor, multiprocessors, memory_bytes, clock_khz, memory_clock_khz) VALUES (1, 1, 0, 'NVIDIA H100 80GB HBM3', 'GPU-1', 9, 0, 132, 85899345920, 1980000, 2619000);
INSERT INTO context VALUES (1, 1, 4096);
INSERT INTO stream VALUES (1, 1, 1, NULL, 7, 'created');
INSERT INTO kernel (id, process, number, name) VALUES (1, 1, 1, 'gemm');
INSERT INTO gpu_name VALUES (1, 1, 1, 'gemm', 'gemm');
INSERT INTO gpu_shape (id, process, number, name, grid_x, grid_y, grid_z, block_x, block_y, block_z, registers, static_shared_bytes, dynamic_shared_bytes, local_bytes) VALUES (1, 1, 1, 1, 264, 1, 1, 256, 1, 1, 32, 0, 0, 0);
INSERT INTO gpu_place VALUES (1, 1, 0, 1, 7);
INSERT INTO gpu_interval VALUES (1, 1, 0, 259800000000000);
-- What is only kept as sums counts as time in which recording was stopped.
INSERT INTO recording_change VALUES (1, 1, 0), (1, 2, 259200000000000);
INSERT INTO gpu_change VALUES (1, 0, 'stopped', NULL), (1, 259200000000000, 'seen', NULL);
INSERT INTO older_name VALUES (1, 'calls'), (2, 'gpu'), (3, 'GPU-1'), (4, 'data'), (5, 'python'), (6, 'module-load'), (7, 'sync-copy'), (8, 'gemm'), (9, 'relu'), (10, 'cuLaunchKernel'), (11, 'others');
-- The numbers vary by a few parts in a hundred, by no rule that has to do with time.
CREATE TEMP TABLE m AS WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 4319)
SELECT i, (i * 7919 + i / 7 * 104729) % 101 - 50 AS noise, i >= 2266 AS waits, i >= 2446 AS slow, i >= 3600 AS loads FROM n;
INSERT INTO older SELECT i, p, 1, w, i = 0, 60000000000, 60000000000, NULL FROM m, (SELECT 0 AS p UNION SELECT 1), (SELECT 1 AS w UNION SELECT 2);
INSERT INTO older SELECT i, 0, 2, 3, 60000, 36000000000 + noise * 60000000 - waits * 9000000000, 40000000, NULL FROM m;
INSERT INTO older SELECT i, 1, 3, 4, 500, 1200000000 + noise * 12000000 + waits * 9600000000, 90000000, NULL FROM m;
INSERT INTO older SELECT i, 1, 3, 5, 900, 22800000000 - noise * 72000000 - waits * 600000000, 10000000, NULL FROM m;
INSERT INTO older SELECT i, 1, 4, 6, 2, 600000000 + noise * 4000000, 400000000, NULL FROM m WHERE loads AND noise > 0;
INSERT INTO older SELECT i, 1, 4, 7, 1, 3000000, 3000000, NULL FROM m WHERE noise = 50;
INSERT INTO older SELECT i, 1, 5, 10, 60000, 240000000, 90000, NULL FROM m;
INSERT INTO older SELECT i, 1, 6, 8, 30000, 120000000, 90000, NULL FROM m;
INSERT INTO older SELECT i, 1, 6, 9, 30000, 120000000, 90000, NULL FROM m;
INSERT INTO older SELECT i, 1, 7, 8, 30000, 15000000000 + noise * 30000000 + slow * 6000000000, 900000, NULL FROM m;
INSERT INTO older SELECT i, 1, 7, 9, 30000, 9000000000 + noise * 20000000, 900000, NULL FROM m;
INSERT INTO older SELECT i, 1, 7, 11, 300, 300000000, 900000, NULL FROM m;
-- The last ten minutes: a launch of 20 s each, and a load.
INSERT INTO call SELECT i, 1, 2, 259200000000000 + i * 60000000000, 10000, 0, 1, 1, NULL, NULL, 1, NULL FROM m WHERE i BETWEEN 0 AND 9 AND i > 0
UNION ALL SELECT 100, 1, 2, 259200001000000, 10000, 0, 1, 1, NULL, NULL, 1, NULL;
INSERT INTO gpu_op SELECT id, 1, 1, 1, start_ns + 20000, 20000000000, id, NULL, NULL, NULL, NULL FROM call;
INSERT INTO stack VALUES (1, 1, 1);
INSERT INTO frame (stack, depth, kind, function, library, file, line, address) VALUES
    (1, 0, 'python', '__next__', NULL, '/usr/lib/python3/dist-packages/torch/utils/data/dataloader.py', 700, NULL);
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 398)
INSERT INTO idle_sample (process, thread, at_ns, span_ns, about, state, system_call, target, signs, pid_or_tid, stack, other_stack, delay_ns, text)
SELECT 1, 1, start_ns + 20005000000 + i * 100000000, 100000000, 0, 'R', -1, 0, 6, NULL, 1, NULL, 0, NULL FROM call, n;
DROP TABLE m;
