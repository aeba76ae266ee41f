-- GPUVERIFY_GPU=sampled: launches each 1 ms for 3 s, of `layer` for 300 to 496 us and each tenth time of `head` for 600 us, and copies; each
-- 13th call was measured. Two launches of `rare` were not.
INSERT INTO meta VALUES ('state', 'complete'), ('session', 'stored'), ('program', 'serve.py'), ('stall_threshold_ns', 100000);
INSERT INTO api (id, name, class, gpu_work) VALUES (1, 'cuLaunchKernel', 'launch', 1), (2, 'cuMemcpyHtoDAsync_v2', 'copy', 3), (3, 'cuStreamSynchronize', 'sync', 0);
INSERT INTO process (id, identity, pid, program, start_ns, end_ns, ended, exit_code, gpu, gpu_why)
VALUES (1, 1, 4242, 'serve.py', 0, 3000000000, 'exit', 0, 'sampled', 'GPUVERIFY_GPU=sampled');
INSERT INTO thread (id, process, serial, tid, name, records) VALUES (1, 1, 1, 4242, 'python', 3163);
INSERT INTO context (id, process, handle) VALUES (1, 1, 1);
INSERT INTO context_device (context, device) VALUES (1, 0);
INSERT INTO stream VALUES (1, 1, 1, NULL, 7, 'created');
INSERT INTO kernel (id, process, number, name) VALUES (1, 1, 1, 'layer'), (2, 1, 2, 'head'), (3, 1, 3, 'rare');
INSERT INTO device (id, process, device, name, multiprocessors) VALUES (1, 1, 0, 'GPU', 100);
-- After each twentieth launch a copy; a wait after every second one.
WITH RECURSIVE n(n) AS (VALUES (0) UNION ALL SELECT n + 1 FROM n WHERE n < 2999)
INSERT INTO call (id, thread, api, start_ns, duration_ns, result, stream, context, kernel, bytes, object)
SELECT 3 * n + 1, 1, 1, 1000000 * n, 3000, 0, 1, 1, CASE WHEN n IN (1000, 2000) THEN 3 WHEN n % 10 = 9 THEN 2 ELSE 1 END, NULL, NULL FROM n
UNION ALL SELECT 3 * n + 2, 1, 2, 1000000 * n + 10000, 5000, 0, 1, 1, NULL, 1000000, 4096 FROM n WHERE n % 20 = 19
UNION ALL SELECT 3 * n + 3, 1, 3, 1000000 * n + 100000, 650000, 0, 1, 1, NULL, NULL, NULL FROM n WHERE n % 2 = 1 ORDER BY 1;
INSERT INTO gpu_sample (process, call, start_ns, duration_ns, bias_ns, error_ns, one_of, queued)
SELECT 1, id, start_ns + 5000, CASE WHEN api = 2 THEN 45000 WHEN kernel = 2 THEN 600000 ELSE 300000 + (id * 7919) % 99 * 2000 END, 2100, 300, 13, 1
FROM call WHERE api < 3 AND id * 7 % 13 = 0 AND kernel IS NOT 3;
