-- A program that decodes through a graph, recorded node by node: three kernels of two lines, and a copy whose line is not
-- known: its node and another one are clones of each other. One kernel is a clone of a clone, and runs beside the first one.
INSERT INTO meta VALUES ('state', 'complete'), ('session', 'stored'), ('program', 'decode'), ('unix_offset_ns', 1700000000000000000);
INSERT INTO api (id, name, class) VALUES (1, 'cudaGraphLaunch', 'launch'), (2, 'cudaStreamSynchronize', 'sync');
INSERT INTO process (id, identity, pid, program, start_ns, end_ns, ended, exit_code, gpu) VALUES (1, 1, 4242, 'decode', 0, 1000000000, 'exit', 0, 'cupti');
INSERT INTO thread VALUES (1, 1, 1, 4242, 'decode', 40);
INSERT INTO context VALUES (1, 1, 4096);
INSERT INTO stream VALUES (1, 1, 1, NULL, 7, 'created');
INSERT INTO gpu_name VALUES (1, 1, 1, 'gemm', 'gemm'), (2, 1, 2, 'softmax', 'softmax');
INSERT INTO gpu_shape (id, process, number, name) VALUES (1, 1, 1, 1), (2, 1, 2, 2);
INSERT INTO gpu_place VALUES (1, 1, 0, 1, 7), (2, 1, 0, 1, 8);
INSERT INTO stack VALUES (1, 1, 1), (2, 1, 2), (3, 1, 3);
INSERT INTO frame (stack, depth, kind, function, library, file, line, address) VALUES (1, 0, 'python', 'decode', NULL, '/home/u/decode.py', 30, NULL), (2, 0, 'python', 'attend', NULL, '/home/u/model.py', 12, NULL), (3, 0, 'python', 'project', NULL, '/home/u/model.py', 20, NULL);
INSERT INTO graph_node VALUES (1, 101, NULL, 2), (1, 102, 2, NULL), (1, 2, 1, NULL), (1, 1, NULL, 3), (1, 103, NULL, 2), (1, 104, 105, NULL), (1, 105, 104, NULL);
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 39)
INSERT INTO call SELECT i + 1, 1, 1, 10000000 + i * 20000000, 30000, 0, 1, NULL, NULL, 77, NULL, NULL FROM n;
INSERT INTO call_stack SELECT id, 1 FROM call;
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 39), o(node, place, kind, shape, from_ns, ns) AS (VALUES
    (101, 1, 1, 1, 0, 9000000), (102, 2, 1, 1, 1000000, 4000000), (103, 1, 1, 2, 9500000, 2500000), (104, 1, 2, NULL, 12000000, 1000000))
INSERT INTO gpu_op (place, kind, shape, start_ns, duration_ns, call, bytes, copy_kind, graph_node)
SELECT o.place, o.kind, o.shape, 10050000 + i * 20000000 + o.from_ns, o.ns + i % 3 * 1000, i + 1, iif(o.kind = 2, 4096, NULL), iif(o.kind = 2, 8, NULL), o.node FROM n, o;
