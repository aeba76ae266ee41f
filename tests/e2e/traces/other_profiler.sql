-- A load waits for a kernel four times: as the first and the last, torch.profiler has the GPU side at the second, from 2 s to 5 s,
-- and CUPTI's callbacks at the third, from 5 s to 6 s. The GPU is busy for half of the time otherwise.
INSERT INTO meta VALUES ('state', 'complete'), ('session', 'stored'), ('program', 'train.py'), ('stall_threshold_ns', 100000);
INSERT INTO api (id, name, class) VALUES (1, 'cuLaunchKernel', 'launch'), (2, 'cuModuleLoadData', 'load'), (3, 'cuStreamSynchronize', 'sync');
INSERT INTO process (id, identity, pid, program, start_ns, end_ns, ended, exit_code, gpu) VALUES (1, 1, 4242, 'train.py', 0, 9000000000, 'exit', 0, 'cupti');
INSERT INTO gpu_interval VALUES (1, 1, 500000000, 9000000000);
INSERT INTO gpu_change VALUES (1, 2000000000, 'other', 'torch.profiler'), (1, 5000000000, 'operations', 'torch.profiler'), (1, 6000000000, 'seen', NULL);
INSERT INTO thread (id, process, serial, tid, name, records) VALUES (1, 1, 1, 4242, 'python', 12);
INSERT INTO context (id, process, handle) VALUES (1, 1, 1);
INSERT INTO stream VALUES (1, 1, 1, NULL, 7, 'created');
INSERT INTO kernel (id, process, number, name) VALUES (1, 1, 1, 'spin');
INSERT INTO device (id, process, device, name, multiprocessors) VALUES (1, 1, 0, 'GPU', 100);
INSERT INTO gpu_name VALUES (1, 1, 1, 'spin', 'spin');
INSERT INTO gpu_shape (id, process, number, name, grid_x, grid_y, grid_z) VALUES (1, 1, 1, 1, 100, 1, 1);
INSERT INTO gpu_place VALUES (1, 1, 0, 1, 7);
WITH step(i, at_ns) AS (VALUES (0, 1000000000), (1, 3000000000), (2, 5000000000), (3, 7000000000))
INSERT INTO call (id, thread, api, start_ns, duration_ns, result, stream, context, kernel, correlation)
SELECT 3 * i + 1, 1, 1, at_ns, 5000, 0, 1, 1, 1, CASE WHEN i IN (0, 3) THEN i + 1 END FROM step
UNION ALL SELECT 3 * i + 2, 1, 2, at_ns + 10000, 990150000, 0, NULL, 1, NULL, NULL FROM step
UNION ALL SELECT 3 * i + 3, 1, 3, at_ns + 1000000000, 3000, 0, 1, NULL, NULL, NULL FROM step;
INSERT INTO gpu_op SELECT id, 1, 1, 1, start_ns + 6000, 990000000, CASE id WHEN 7 THEN NULL ELSE id END, NULL, NULL, NULL, NULL
FROM call WHERE api = 1 AND id <> 4;
