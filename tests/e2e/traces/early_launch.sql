-- The program of lazy_launch.sql after the advice was followed: it launches the kernel once before its loop,
-- and later neither that thread nor the copying one waits. Thread 2 still waits once as it asked to.
INSERT INTO meta VALUES ('state', 'complete'), ('stalls', 5), ('session', 'stored'), ('program', 'train'), ('unix_offset_ns', 1700000000000000000);
INSERT INTO api (id, name, class) VALUES (1, 'cudaLaunchKernel', 'launch'), (2, 'cudaMemcpyAsync', 'copy'), (3, 'cudaDeviceSynchronize', 'sync');
INSERT INTO process (id, identity, pid, program, start_ns, end_ns, ended, exit_code, gpu) VALUES (1, 1, 4242, 'train', 0, 6000000000, 'exit', 0, 'cupti');
INSERT INTO thread VALUES (1, 1, 1, 4242, 'python', 40), (2, 1, 2, 4243, 'loader', 2);
INSERT INTO context VALUES (1, 1, 4096);
INSERT INTO stream VALUES (1, 1, 1, NULL, 7, 'created');
INSERT INTO kernel (id, process, number, name) VALUES (1, 1, 1, 'gemm'), (2, 1, 2, 'vectorized_elementwise_kernel<tanh>');
INSERT INTO gpu_name VALUES (1, 1, 1, 'gemm', 'gemm'), (2, 1, 2, 'vectorized_elementwise_kernel<tanh>', 'tanh');
INSERT INTO gpu_shape (id, process, number, name) VALUES (1, 1, 1, 1), (2, 1, 2, 2);
INSERT INTO gpu_place VALUES (1, 1, 0, 1, 7);
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 37)
INSERT INTO call SELECT i + 1, 1, 1, 4200000000 + i * 20000, 8000, 0, 1, NULL, NULL, NULL, 1, NULL FROM n;
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 37)
INSERT INTO gpu_op SELECT i + 1, 1, 1, 1, 4200010000 + i * 22700000, 22600000, i + 1, NULL, NULL, NULL, NULL FROM n;
INSERT INTO call VALUES (39, 1, 1, 4198000000, 1900000, 0, 1, NULL, NULL, NULL, 2, NULL), (42, 1, 1, 4210000000, 9000, 0, 1, NULL, NULL, NULL, 2, NULL);
INSERT INTO call VALUES (40, 2, 2, 4250000000, 11000, 0, 1, NULL, 4096, NULL, NULL, NULL);
INSERT INTO call VALUES (41, 2, 3, 5100000000, 100000000, 0, NULL, 1, NULL, NULL, NULL, NULL);
INSERT INTO gpu_op VALUES (39, 1, 1, 2, 4199900000, 3000, 39, NULL, NULL, NULL, NULL), (40, 1, 1, 2, 5063010000, 3000, 42, NULL, NULL, NULL, NULL);
INSERT INTO stall (id, call, cause, expected, jit_ns, wait_ns, work_ns, waited_for, blocked_by, drained_count, drained_ns, confidence, advice) VALUES (1, 41, 'explicit-sync', 1, 0, 99900000, 100000, NULL, NULL, NULL, NULL, 'measured', NULL);
