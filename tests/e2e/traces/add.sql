-- A Python program that adds arrays: much loading, six copies, short kernels of few blocks on two of the
-- machine's devices; a second process that was killed inside a call; samples, losses, errors and memory
-- that was never freed.
INSERT INTO meta VALUES ('state', 'complete'), ('stalls', 1), ('session', 'stored'), ('program', 'add.py'), ('arguments', 'python add.py'), ('host', 'box'), ('driver_version', 13000), ('start_unix_ns', 1700000000000000000);
INSERT INTO api (id, name, class) VALUES (1, 'cuInit', 'init'), (2, 'cuDevicePrimaryCtxRetain', 'context'), (3, 'cuLibraryLoadData', 'load'), (4, 'cuLaunchKernel', 'launch'), (5, 'cuMemcpyHtoD_v2', 'copy'), (6, 'cuMemcpyDtoH_v2', 'copy'), (7, 'cuMemAlloc_v2', 'alloc'), (8, 'cuMemFree_v2', 'free'), (9, 'cuStreamSynchronize', 'sync'), (10, 'cuMemAllocHost_v2', 'alloc'), (11, 'cuModuleLoadData', 'load');
INSERT INTO process (id, identity, pid, parent_pid, program, arguments, start_ns, end_ns, ended, exit_code, driver_version, gpu, gpu_why, cupti_version) VALUES (1, 1, 4242, 4000, 'add.py', 'python add.py', 0, 1920000000, 'exit', 0, 13000, 'cupti', NULL, 130000), (2, 2, 4243, 4242, 'worker', 'python worker.py', 500000000, 900000000, 'killed', NULL, 13000, 'host-only', 'no libcupti was found: set GPUVERIFY_CUPTI', NULL);
INSERT INTO variable VALUES (1, 'CUDA_LAUNCH_BLOCKING', '0'), (1, 'CUDA_VISIBLE_DEVICES', '0,1'), (2, 'PYTORCH_ALLOC_CONF', 'expandable_segments:True');
INSERT INTO thread VALUES (1, 1, 1, 4242, 'python', 31), (2, 2, 1, 4243, 'python', 2);
INSERT INTO context VALUES (1, 1, 4096);
INSERT INTO stream VALUES (1, 1, 1, NULL, 7, 'created');
INSERT INTO module VALUES (1, 1, 1, NULL);
INSERT INTO kernel (id, process, number, name, module) VALUES (1, 1, 1, '_Z3addPfS_', 1), (2, 1, 2, 'scale', 1);
INSERT INTO device (id, process, device, name, uuid, cc_major, cc_minor, multiprocessors, memory_bytes, clock_khz, memory_clock_khz) VALUES (1, 1, 0, 'NVIDIA H100 80GB HBM3', 'GPU-1', 9, 0, 132, 85899345920, 1980000, 2619000), (2, 1, 1, 'NVIDIA H100 80GB HBM3', 'GPU-2', 9, 0, 132, 85899345920, 1980000, 2619000);
INSERT INTO gpu_name VALUES (1, 1, 1, 'add(float*, float*)', '_Z3addPfS_'), (2, 1, 2, 'scale', 'scale');
INSERT INTO gpu_shape (id, process, number, name, grid_x, grid_y, grid_z, block_x, block_y, block_z, registers, static_shared_bytes, dynamic_shared_bytes, local_bytes) VALUES (1, 1, 1, 1, 8, 1, 1, 128, 1, 1, 32, 0, 0, 0), (2, 1, 2, 2, 200, 1, 1, 512, 2, 1, 64, 4096, 1024, 0), (3, 1, 3, 2, 100, 1, 1, 256, 1, 1, 64, 4096, 1024, 0);
INSERT INTO gpu_place VALUES (1, 1, 0, 1, 7), (2, 1, 1, 2, 9);
INSERT INTO call VALUES (1, 1, 1, 20000000, 10000000, 0, NULL, NULL, NULL, NULL, NULL, NULL), (2, 1, 2, 30000000, 200000000, 0, NULL, NULL, NULL, NULL, NULL, NULL), (3, 1, 3, 300000000, 1100000000, 0, NULL, 1, 4000, 77, NULL, NULL), (4, 1, 7, 1500000000, 50000, 0, NULL, 1, 8388608, 4096, NULL, NULL), (5, 1, 7, 1500100000, 50000, 0, NULL, 1, 4194304, 16777216, NULL, NULL), (6, 1, 10, 1500200000, 90000, 0, NULL, 1, 4194304, 90000000, NULL, NULL), (7, 1, 11, 1500400000, 30000, 200, NULL, 1, 100, NULL, NULL, NULL);
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 5)
INSERT INTO call SELECT 10 + i, 1, 5 + i % 2, 1510000000 + i * 60000000, 1200000, 0, 1, 1, 4194304, NULL, NULL, NULL FROM n;
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 9)
INSERT INTO call SELECT 20 + i, 1, 4, 1512000000 + i * 30000000, 6000 + i * 10, CASE WHEN i = 9 THEN 719 ELSE 0 END, 1, 1, NULL, NULL, 1 + (i > 6), NULL FROM n;
INSERT INTO call VALUES (30, 1, 9, 1850000000, 60000000, 0, 1, NULL, NULL, NULL, NULL, NULL), (31, 1, 8, 1915000000, 300000, 0, NULL, 1, NULL, 4096, NULL, NULL), (32, 2, 1, 510000000, 9000000, 0, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO call_module VALUES (3, 1);
INSERT INTO load (id, thread, api, call, start_ns, duration_ns, result, kind, image, name, bytes, hash, handle, module, library) VALUES (1, 1, 3, 3, 300000000, 1100000000, 0, 'library', 'ptx', NULL, 4000, 99, 77, 1, '/usr/lib/libadd.so'), (2, 1, 11, 7, 1500400000, 30000, 200, 'ptx', 'ptx', NULL, 100, 98, NULL, NULL, NULL);
INSERT INTO load_wait VALUES (1, 0, 0), (2, 0, 0);
INSERT INTO jit (id, process, start_ns, duration_ns, operation, entry, call) VALUES (1, 1, 310000000, 1060000000, 3, 1, 3);
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 5)
INSERT INTO gpu_op SELECT 10 + i, 1, 2, NULL, 1510100000 + i * 60000000, 1000000 + i * 1000, 10 + i, 4194304, 17 + i % 2 + (i > 3) * 16, NULL, NULL FROM n;
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 8)
INSERT INTO gpu_op SELECT 20 + i, 1 + (i > 6), 1, CASE WHEN i > 6 THEN 2 + i % 2 ELSE 1 END, 1512010000 + i * 30000000, 1000 + i * 100, CASE WHEN i <> 8 THEN 20 + i END, NULL, NULL, NULL, NULL FROM n;
INSERT INTO gpu_op VALUES (40, 1, 3, NULL, 1500600000, 2000, NULL, 4096, NULL, NULL, NULL);
INSERT INTO stack VALUES (1, 1, 1), (2, 1, 2);
INSERT INTO call_stack VALUES (10, 1), (12, 1), (5, 2);
INSERT INTO frame (stack, depth, kind, function, library, file, line, address) VALUES (1, 0, 'python', 'main', NULL, '/home/u/add.py', 14, NULL), (2, 0, 'python', 'setup', NULL, '/home/u/add.py', 7, NULL);
INSERT INTO stall_advice VALUES (1, 'Ship machine code.');
INSERT INTO stall (id, call, cause, expected, jit_ns, wait_ns, work_ns, waited_for, blocked_by, drained_count, drained_ns, confidence, advice) VALUES (1, 3, 'jit', 0, 1060000000, 0, 40000000, NULL, NULL, NULL, NULL, 'measured', 1), (2, 30, 'explicit-sync', 1, 0, 59000000, 1000000, NULL, NULL, NULL, NULL, 'measured', NULL);
INSERT INTO flight (process, thread_serial, tid, name, api, start_ns, kernel, seen_ns, cause, confidence) VALUES (2, 1, 4243, 'python', 2, 520000000, NULL, 890000000, 'context', 'inferred');
INSERT INTO loss VALUES (1, 'call', 'event', 12), (2, 'name', '', 1);
INSERT INTO cost VALUES (1, 'hooks', 31, 1395, 0), (1, 'hooks-unrecorded', 12, 540, 0), (1, 'stacks', 8, 5800000, 1234), (1, 'cpu-waits', 6, 30000, 0), (1, 'cupti-calls', 20, 12000, 0), (1, 'cupti-buffers', 2, 3000, 0), (1, 'thread', 9, 4500000, 1), (1, 'start', 1, 2100000, 0), (1, 'end', 1, 5000000, 0), (2, 'hooks', 2, 90, 0), (2, 'hooks-unrecorded', 0, 0, 0), (2, 'stacks', 0, 0, 0), (2, 'cpu-waits', 0, 0, 0), (2, 'cupti-calls', 0, 0, 0), (2, 'cupti-buffers', 0, 0, 0), (2, 'thread', 0, 0, 0), (2, 'start', 0, 0, 0), (2, 'end', 0, 0, 0);
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 18)
INSERT INTO sample (id, uuid, at_ns, gpu_percent, memory_percent, memory_used_bytes, power_mw, sm_clock_mhz, memory_clock_mhz, temperature_c) SELECT i + 1, 'GPU-1', 50000000 + i * 100000000, i * 5, i, 1073741824 + i * 10000000, 120000 + i * 1000, 1980, 2619, 35 FROM n;
