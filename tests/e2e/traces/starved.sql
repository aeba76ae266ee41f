-- A training loop of twenty steps whose GPU waits: for a data set, for a thread that holds the GIL, and
-- shortly for Python between two launches. It imports first, and writes a checkpoint at the end.
INSERT INTO meta VALUES ('state', 'complete'), ('stalls', 1), ('machine', 'x86_64'), ('session', 'starved'), ('program', 'train.py'), ('arguments', 'python train.py'), ('host', 'box'), ('driver_version', 13000), ('start_unix_ns', 1700000000000000000), ('stall_threshold_ns', 1000000);
INSERT INTO api (id, name, class, gpu_work) VALUES (1, 'cuInit', 'init', 0), (2, 'cuLaunchKernel', 'launch', 1);
INSERT INTO process (id, identity, pid, parent_pid, program, arguments, start_ns, end_ns, ended, exit_code, driver_version, gpu, gpu_why, cupti_version) VALUES (1, 1, 4242, 4000, 'train.py', 'python train.py', 0, 41200000000, 'exit', 0, 13000, 'cupti', NULL, 130000);
INSERT INTO thread VALUES (1, 1, 1, 4242, 'python', 41), (2, 1, 2, 4250, 'logger', 0);
INSERT INTO device (id, process, device, name, uuid, cc_major, cc_minor, multiprocessors, memory_bytes, clock_khz, memory_clock_khz) VALUES (1, 1, 0, 'NVIDIA H100 80GB HBM3', 'GPU-1', 9, 0, 132, 85899345920, 1980000, 2619000);
INSERT INTO context VALUES (1, 1, 4096);
INSERT INTO stream VALUES (1, 1, 1, NULL, 7, 'created');
INSERT INTO kernel (id, process, number, name) VALUES (1, 1, 1, 'gemm'), (2, 1, 2, 'relu');
INSERT INTO gpu_name VALUES (1, 1, 1, 'gemm', 'gemm'), (2, 1, 2, 'relu', 'relu');
INSERT INTO gpu_shape (id, process, number, name, grid_x, grid_y, grid_z, block_x, block_y, block_z, registers, static_shared_bytes, dynamic_shared_bytes, local_bytes) VALUES (1, 1, 1, 1, 264, 1, 1, 256, 1, 1, 64, 0, 0, 0), (2, 1, 2, 2, 264, 1, 1, 256, 1, 1, 32, 0, 0, 0);
INSERT INTO gpu_place VALUES (1, 1, 0, 1, 7);
INSERT INTO call VALUES (1, 1, 1, 700000000, 290000000, 0, NULL, NULL, NULL, NULL, NULL, NULL);
-- A step of 2 s: gemm for 600 ms, 50 ms idle, relu for 150 ms, then 1.2 s idle.
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 19)
INSERT INTO call SELECT 10 + 2 * i, 1, 2, 999990000 + i * 2000000000, 10000, 0, 1, 1, NULL, NULL, 1, NULL FROM n
UNION ALL SELECT 11 + 2 * i, 1, 2, 1649990000 + i * 2000000000, 10000, 0, 1, 1, NULL, NULL, 2, NULL FROM n;
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 19)
INSERT INTO gpu_op SELECT 10 + 2 * i, 1, 1, 1, 1000000000 + i * 2000000000, 600000000, 10 + 2 * i, NULL, NULL, NULL, NULL FROM n
UNION ALL SELECT 11 + 2 * i, 1, 1, 2, 1650000000 + i * 2000000000, 150000000, 11 + 2 * i, NULL, NULL, NULL, NULL FROM n;
INSERT INTO stack VALUES (1, 1, 1), (2, 1, 2), (3, 1, 3), (4, 1, 4), (5, 1, 5), (6, 1, 6);
INSERT INTO frame (stack, depth, kind, function, library, file, line, address) VALUES
    (1, 0, 'python', '__next__', NULL, '/usr/lib/python3/dist-packages/torch/utils/data/dataloader.py', 700, NULL),
    (1, 1, 'python', 'next_batch', NULL, '/home/u/train.py', 30, NULL),
    (6, 0, 'python', 'Dataset.__getitem__', NULL, '/home/u/data.py', 41, NULL),
    (4, 0, 'python', '_call', NULL, '<frozen importlib._bootstrap>', 241, NULL),
    (2, 0, 'python', 'write_log', NULL, '/home/u/log.py', 12, NULL), (3, 0, 'python', 'step', NULL, '/home/u/train.py', 52, NULL),
    (4, 1, 'python', '<module>', NULL, '/home/u/train.py', 3, NULL), (5, 0, 'python', 'save', NULL, '/home/u/train.py', 71, NULL);
-- Looks each 20 ms. A step of 2 s: 1 s for data, whose worker is looked at too, then 200 ms for the GIL; between its launches Python.
CREATE TEMP TABLE look (from_ns, until_ns, every_ns, times, about, state, system_call, target, signs, other, stack, other_stack, text);
INSERT INTO look VALUES (0, 700000000, 0, 1, 0, 'R', -1, 0, 6, NULL, 4, NULL, NULL),
    (1600000000, 1650000000, 2000000000, 20, 0, 'R', -1, 0, 6, NULL, 3, NULL, NULL),
    (1800000000, 2800000000, 2000000000, 19, 2, 'R', -1, 0, 6, 4300, 1, 6, NULL),
    (2800000000, 2999000000, 2000000000, 19, 1, 'S', 202, 0, 2, 4250, NULL, 2, NULL),
    (39800000000, 41200000000, 0, 1, 0, 'S', 0, 1, 0, NULL, 5, NULL, 'model.pt');
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 100)
INSERT INTO idle_sample (process, thread, at_ns, span_ns, about, state, system_call, target, signs, pid_or_tid, stack, other_stack, delay_ns, text)
SELECT 1, 1, from_ns + r.i * every_ns + l.i * 20000000 + 5000000, 20000000, about, state, system_call, target, signs, other, stack, other_stack, 0, text
FROM look, n l, n r WHERE r.i < times AND from_ns + l.i * 20000000 + 5000000 < until_ns;
DROP TABLE look;
