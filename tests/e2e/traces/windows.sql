-- GPUVERIFY_GPU=windows: launches each 1 ms for 3 s, of `layer` for 300 to 496 us and each tenth time of `head` for 700 us, and copies;
-- the GPU side is seen for 20 ms in each 200 ms. Two launches of `rare` are in no window. One stall, between windows.
INSERT INTO meta VALUES ('state', 'complete'), ('session', 'stored'), ('program', 'serve.py'), ('stall_threshold_ns', 100000);
INSERT INTO api (id, name, class, gpu_work) VALUES (1, 'cuLaunchKernel', 'launch', 1), (2, 'cuMemcpyHtoDAsync_v2', 'copy', 3), (3, 'cuModuleLoadData', 'load', 0);
INSERT INTO process (id, identity, pid, program, start_ns, end_ns, ended, exit_code, gpu) VALUES (1, 1, 4242, 'serve.py', 0, 3000000000, 'exit', 0, 'cupti');
INSERT INTO gpu_interval VALUES (1, 1, 0, 3000000000);
INSERT INTO thread (id, process, serial, tid, name, records) VALUES (1, 1, 1, 4242, 'python', 3163);
INSERT INTO context (id, process, handle) VALUES (1, 1, 1);
INSERT INTO stream VALUES (1, 1, 1, NULL, 7, 'created');
INSERT INTO kernel (id, process, number, name) VALUES (1, 1, 1, 'layer'), (2, 1, 2, 'head'), (3, 1, 3, 'rare');
INSERT INTO device (id, process, device, name, multiprocessors) VALUES (1, 1, 0, 'GPU', 100);
INSERT INTO gpu_name VALUES (1, 1, 1, 'layer', 'layer'), (2, 1, 2, 'head', 'head');
INSERT INTO gpu_shape (id, process, number, name, grid_x, grid_y, grid_z) VALUES (1, 1, 1, 1, 200, 1, 1), (2, 1, 2, 2, 200, 1, 1);
INSERT INTO gpu_place VALUES (1, 1, 0, 1, 7);
WITH RECURSIVE n(n) AS (VALUES (0) UNION ALL SELECT n + 1 FROM n WHERE n < 14)
INSERT INTO gpu_window SELECT 1, 200000000 * n + 30000000 + n * 37 % 15 * 10000000, 200000000 * n + 50000000 + n * 37 % 15 * 10000000 FROM n;
INSERT INTO gpu_change SELECT 1, 0, 'between', NULL UNION ALL SELECT 1, start_ns, 'seen', NULL FROM gpu_window
UNION ALL SELECT 1, end_ns, 'between', NULL FROM gpu_window;
-- The launches, those of rare, the load that stalls; after each twentieth launch a copy.
WITH RECURSIVE n(n) AS (VALUES (0) UNION ALL SELECT n + 1 FROM n WHERE n < 2999)
INSERT INTO call (id, thread, api, start_ns, duration_ns, result, stream, context, kernel, bytes, object)
SELECT 2 * n + 1, 1, 1, 1000000 * n, 3000, 0, 1, 1, CASE WHEN n IN (1000, 2000) THEN 3 WHEN n % 10 = 9 THEN 2 ELSE 1 END, NULL, NULL FROM n WHERE n <> 1600
UNION ALL SELECT 2 * n + 2, 1, 2, 1000000 * n + 10000, 5000, 0, 1, 1, NULL, 1000000, 4096 FROM n WHERE n % 20 = 19
UNION ALL SELECT 3201, 1, 3, 1600000000, 150000, 0, NULL, 1, NULL, 1000, NULL ORDER BY 1;
INSERT INTO gpu_op
SELECT c.id, 1, CASE c.api WHEN 1 THEN 1 ELSE 2 END, c.kernel, c.start_ns + CASE c.api WHEN 1 THEN 5000 ELSE 700000 END,
    CASE WHEN c.api = 2 THEN 45000 WHEN c.kernel = 2 THEN 600000 ELSE 300000 + (c.id * 7919) % 99 * 2000 END, c.id, c.bytes,
    CASE c.api WHEN 2 THEN 33 END, NULL, NULL
FROM call c WHERE c.api < 3 AND EXISTS (SELECT 1 FROM gpu_window w WHERE c.start_ns >= w.start_ns AND c.start_ns < w.end_ns);
UPDATE call SET correlation = id WHERE id IN (SELECT call FROM gpu_op);
