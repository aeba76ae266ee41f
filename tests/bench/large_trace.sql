-- A run of :calls calls by 8 threads, with as many operations on the GPU: launches, copies, event
-- records, waits, some of them long. No two durations in a row are alike.
INSERT INTO meta VALUES ('state', 'recording'), ('session', '1-1-0000abcd'),
    ('spool_directory', :spools), ('program', 'large'), ('unix_offset_ns', 1700000000000000000);
INSERT INTO api (id, name, class) VALUES (1, 'cuLaunchKernel', 'launch'), (2, 'cuMemcpyHtoDAsync_v2', 'copy'),
    (3, 'cuMemcpyDtoHAsync_v2', 'copy'), (4, 'cuEventRecord', 'event'),
    (5, 'cuStreamSynchronize', 'sync'), (6, 'cuMemAlloc_v2', 'alloc'), (7, 'cuMemFree_v2', 'free');
UPDATE api SET gpu_work = CASE class WHEN 'launch' THEN 1 WHEN 'copy' THEN 3 ELSE 0 END;
INSERT INTO process (id, identity, pid, program, start_ns, end_ns, ended, exit_code, gpu)
    VALUES (1, 1, 4242, 'large', 0, :calls * 2500 + 1000000, 'exit', 0, 'cupti');
INSERT INTO context VALUES (1, 1, 4096);
INSERT INTO device (id, process, device, name, uuid, cc_major, cc_minor, multiprocessors)
    VALUES (1, 1, 0, 'Generated', 'GPU-1', 9, 0, 132);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 8)
INSERT INTO thread SELECT i, 1, i, 4241 + i, 'worker', :calls / 8 FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 16)
INSERT INTO stream SELECT i, 1, 1, NULL, 1000 + i, 'created' FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 16)
INSERT INTO gpu_place SELECT i, 1, 0, 1, 6 + i FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40)
INSERT INTO kernel (id, process, number, name) SELECT i, 1, i, printf('kernel_%02d', i) FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40)
INSERT INTO gpu_name SELECT i, 1, i, printf('kernel_%02d', i), printf('kernel_%02d', i) FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40)
INSERT INTO gpu_shape SELECT i, 1, i, i, 16 * i, 1, 1, 128, 1, 1, 32, 0, 0, 0 FROM n;
-- Of 20 calls 14 launch, 2 copy each way, 1 records an event, 1 waits; one of 50000 takes 20 ms.
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < :calls - 1)
INSERT INTO call SELECT i + 1, i % 8 + 1,
    CASE WHEN i % 20 < 14 THEN 1 WHEN i % 20 < 16 THEN 2 WHEN i % 20 < 18 THEN 3
        WHEN i % 20 = 18 THEN 4 ELSE 5 END,
    i * 2500, CASE WHEN i % 50000 = 777 THEN 20000000 ELSE 1500 + i * 7919 % 1000 END, 0,
    i * 31 % 16 + 1, NULL, CASE WHEN i % 20 BETWEEN 14 AND 17 THEN 4096 + i % 7 * 65536 END, NULL,
    CASE WHEN i % 20 < 14 THEN i * 13 % 40 + 1 END, NULL FROM n;
-- Those that start nothing on the GPU are made up for: a launch before them starts two kernels.
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < :calls - 1)
INSERT INTO gpu_op SELECT i + 1, i * 31 % 16 + 1, CASE WHEN i % 20 BETWEEN 14 AND 17 THEN 2 ELSE 1 END,
    CASE WHEN i % 20 BETWEEN 14 AND 17 THEN NULL ELSE i * 13 % 40 + 1 END, i * 2500 + 4000,
    3000 + i * 6007 % 20000, CASE WHEN i % 20 > 17 THEN i - 7 ELSE i + 1 END,
    CASE WHEN i % 20 BETWEEN 14 AND 17 THEN 4096 + i % 7 * 65536 END,
    CASE WHEN i % 20 BETWEEN 14 AND 15 THEN 1 WHEN i % 20 BETWEEN 16 AND 17 THEN 2 END, NULL, NULL
    FROM n;
-- One of about 200 launches and copies was chosen to have its own stack: 1000 lines, in 100 functions.
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
INSERT INTO stack (id, process, number) SELECT i, 1, i FROM n;
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 9999)
INSERT INTO frame (stack, depth, kind, function, file, line)
SELECT i / 10 + 1, i % 10, 'python', printf('f%d', i / 100), 'train.py', i / 10 + i % 10 FROM n;
INSERT INTO call_stack SELECT id, id * 7919 % 1000 + 1 FROM call WHERE id % 199 = 0 AND api < 4;
INSERT INTO call_sample SELECT call, 199 FROM call_stack;
