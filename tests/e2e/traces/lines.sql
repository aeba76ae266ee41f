-- A training program: two lines of a model, the optimizer's step as a graph, copies, and an
-- extension in C++. One kernel has no stack.
INSERT INTO meta VALUES ('state', 'complete'), ('stalls', 1), ('session', 'lines'), ('program', 'train.py'), ('arguments', 'python train.py'), ('host', 'box'), ('driver_version', 13000), ('start_unix_ns', 1700000000000000000), ('stall_threshold_ns', 1000000);
INSERT INTO api (id, name, class, begins_capture, ends_capture) VALUES (6, 'cuStreamBeginCapture_v2', 'stream', 1, 0), (7, 'cuStreamEndCapture', 'stream', 0, 1), (8, 'cuGraphInstantiateWithFlags', 'graph', 0, 0);
INSERT INTO api (id, name, class, gpu_work) VALUES (1, 'cuInit', 'init', 0), (2, 'cuLaunchKernel', 'launch', 1), (3, 'cuGraphLaunch', 'launch', 1), (4, 'cuMemcpyHtoDAsync_v2', 'copy', 1), (5, 'cuMemsetD8Async', 'set', 1);
INSERT INTO process (id, identity, pid, parent_pid, program, arguments, start_ns, end_ns, ended, exit_code, driver_version, gpu, gpu_why, cupti_version) VALUES (1, 1, 4242, 4000, 'train.py', 'python train.py', 0, 12000000000, 'exit', 0, 13000, 'cupti', NULL, 130000);
INSERT INTO thread VALUES (1, 1, 1, 4242, 'python', 604);
INSERT INTO range_text VALUES (1, 1, 1, 'step'), (2, 1, 2, 'ready');
INSERT INTO range (id, thread, kind, text, start_ns, duration_ns) VALUES (1, 1, 3, 2, 0, 0), (2, 1, 1, 1, 1, 1000000000);
INSERT INTO call_range VALUES (1, 1, 2);
INSERT INTO device (id, process, device, name, uuid, cc_major, cc_minor, multiprocessors, memory_bytes, clock_khz, memory_clock_khz) VALUES (1, 1, 0, 'NVIDIA H100 80GB HBM3', 'GPU-1', 9, 0, 132, 85899345920, 1980000, 2619000);
INSERT INTO context VALUES (1, 1, 4096);
INSERT INTO stream VALUES (1, 1, 1, NULL, 7, 'created');
INSERT INTO kernel (id, process, number, name) VALUES (1, 1, 1, 'gemm'), (2, 1, 2, 'softmax'), (3, 1, 3, 'void quantize<float, 4>(float const*, float*)');
INSERT INTO gpu_name VALUES (1, 1, 1, 'gemm', 'gemm'), (2, 1, 2, 'softmax', 'softmax'), (3, 1, 3, 'void quantize<float, 4>(float const*, float*)', '_Z8quantizeIfLi4EEvPKfPf');
INSERT INTO gpu_shape (id, process, number, name, grid_x, grid_y, grid_z, block_x, block_y, block_z, registers, static_shared_bytes, dynamic_shared_bytes, local_bytes) VALUES (1, 1, 1, 1, 264, 1, 1, 256, 1, 1, 64, 0, 0, 0), (2, 1, 2, 2, 264, 1, 1, 256, 1, 1, 32, 0, 0, 0), (3, 1, 3, 3, 264, 1, 1, 256, 1, 1, 32, 0, 0, 0);
INSERT INTO gpu_place VALUES (1, 1, 0, 1, 7);
INSERT INTO call VALUES (1, 1, 1, 100000000, 290000000, 0, NULL, NULL, NULL, NULL, NULL, NULL);
-- The graph 77 is captured, and made into 78, which each step launches.
INSERT INTO call VALUES (2, 1, 6, 500000000, 10000, 0, 1, 1, NULL, NULL, NULL, NULL), (3, 1, 7, 600000000, 10000, 0, 1, 1, NULL, 77, NULL, NULL), (4, 1, 8, 700000000, 10000, 0, 1, NULL, NULL, 78, NULL, NULL);
INSERT INTO call_object VALUES (4, 77);
INSERT INTO call_stack VALUES (2, 5);
-- A step of 100 ms: a copy of 2 ms, gemm for 25 ms twice, from one of two lines, softmax for 8 ms,
-- quantize for 4 ms, a graph for 20 ms.
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99)
INSERT INTO call SELECT 10 + 6 * i, 1, 4, 1000000000 + i * 100000000, 10000, 0, 1, 1, 1000000, NULL, NULL, NULL FROM n
UNION ALL SELECT 11 + 6 * i, 1, 2, 1000100000 + i * 100000000, 10000, 0, 1, 1, NULL, NULL, 1, NULL FROM n
UNION ALL SELECT 12 + 6 * i, 1, 2, 1000200000 + i * 100000000, 10000, 0, 1, 1, NULL, NULL, 1, NULL FROM n
UNION ALL SELECT 13 + 6 * i, 1, 2, 1000300000 + i * 100000000, 10000, 0, 1, 1, NULL, NULL, 2, NULL FROM n
UNION ALL SELECT 14 + 6 * i, 1, 2, 1000400000 + i * 100000000, 10000, 0, 1, 1, NULL, NULL, 3, NULL FROM n
UNION ALL SELECT 15 + 6 * i, 1, 3, 1000500000 + i * 100000000, 10000, 0, 1, 1, NULL, 78, NULL, NULL FROM n ORDER BY 1;
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99)
INSERT INTO gpu_op SELECT 10 + 6 * i, 1, 2, NULL, 1001000000 + i * 100000000, 2000000, 10 + 6 * i, 1000000, 33, NULL, NULL FROM n
UNION ALL SELECT 11 + 6 * i, 1, 1, 1, 1004000000 + i * 100000000, 25000000, 11 + 6 * i, NULL, NULL, NULL, NULL FROM n
UNION ALL SELECT 12 + 6 * i, 1, 1, 1, 1030000000 + i * 100000000, 25000000, 12 + 6 * i, NULL, NULL, NULL, NULL FROM n
UNION ALL SELECT 13 + 6 * i, 1, 1, 2, 1056000000 + i * 100000000, 8000000, 13 + 6 * i, NULL, NULL, NULL, NULL FROM n
UNION ALL SELECT 14 + 6 * i, 1, 1, 3, 1065000000 + i * 100000000, 4000000, 14 + 6 * i, NULL, NULL, NULL, NULL FROM n
UNION ALL SELECT 15 + 6 * i, 1, 4, NULL, 1070000000 + i * 100000000, 20000000, 15 + 6 * i, NULL, NULL, NULL, NULL FROM n ORDER BY 1;
-- Of gemm one of seven calls has a stack, of softmax none, of the others all.
INSERT INTO call_stack
SELECT id, CASE id % 6 WHEN 4 THEN 6 WHEN 2 THEN 3 WHEN 3 THEN 4
    WHEN 5 THEN CASE WHEN (id * 2654435761 >> 16) % 100 < 80 THEN 1 ELSE 2 END
    ELSE CASE WHEN (id * 2654435761 >> 16) % 100 < 60 THEN 1 ELSE 2 END END
FROM call WHERE id >= 10 AND (id % 6 IN (2, 3, 4) OR id % 6 IN (5, 0) AND (id * 2246822519 >> 13) % 7 = 0);
INSERT INTO call_sample SELECT call, 7 FROM call_stack WHERE call % 6 IN (5, 0);
INSERT INTO stack VALUES (1, 1, 1), (2, 1, 2), (3, 1, 3), (4, 1, 4), (5, 1, 5), (6, 1, 6);
INSERT INTO frame (stack, depth, kind, function, library, file, line, address) VALUES
    (1, 0, 'runtime', 'cudaLaunchKernel', '/usr/lib/libcudart.so.13', NULL, NULL, 1),
    (1, 1, 'native', 'at::native::linear(at::Tensor const&)', '/opt/venv/lib/python3.12/site-packages/torch/lib/libtorch_cuda.so', NULL, NULL, 2),
    (1, 2, 'python', 'Linear.forward', NULL, '/opt/venv/lib/python3.12/site-packages/torch/nn/modules/linear.py', 134, NULL),
    (1, 3, 'python', 'Model.forward', NULL, '/home/u/model.py', 41, NULL), (1, 4, 'python', 'step', NULL, '/home/u/train.py', 18, NULL),
    (1, 5, 'python', '<module>', NULL, '/home/u/train.py', 30, NULL), (1, 6, 'native', NULL, '/lib/x86_64-linux-gnu/libc.so.6', NULL, NULL, 3),
    (2, 0, 'native', NULL, '/opt/venv/lib/python3.12/site-packages/torch/lib/libtorch_cuda.so', NULL, NULL, 4096),
    (2, 2, 'python', 'linear', NULL, '/opt/venv/lib/python3.12/site-packages/torch/nn/functional.py', 2140, NULL),
    (2, 3, 'python', 'Model.forward', NULL, '/home/u/model.py', 43, NULL), (2, 4, 'python', 'step', NULL, '/home/u/train.py', 18, NULL),
    (2, 5, 'python', '<module>', NULL, '/home/u/train.py', 30, NULL),
    (3, 0, 'native', 'quantize_launch(float const*, float*)', '/home/u/ext/quant.so', '/home/u/ext/quant.cu', 12, 5),
    (3, 1, 'python', 'quantize', NULL, '/home/u/model.py', 12, NULL), (3, 2, 'python', '<module>', NULL, '/home/u/train.py', 30, NULL),
    (4, 0, 'python', 'replay', NULL, '/opt/venv/lib/python3.12/site-packages/torch/cuda/graphs.py', 88, NULL), (4, 1, 'python', 'step', NULL, '/home/u/train.py', 22, NULL),
    (4, 2, 'python', '<module>', NULL, '/home/u/train.py', 30, NULL),
    (5, 0, 'python', 'capture', NULL, '/home/u/train.py', 9, NULL), (5, 1, 'python', '<module>', NULL, '/home/u/train.py', 27, NULL),
    (6, 0, 'python', 'batches', NULL, '/home/u/data.py', 7, NULL), (6, 1, 'python', '<module>', NULL, '/home/u/train.py', 29, NULL);
