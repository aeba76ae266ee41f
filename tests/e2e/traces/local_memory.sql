-- kernels/stalls/local_memory on an H200, CUDA 13.0: CUPTI says nothing of local memory. Not analysed yet.
INSERT INTO meta (key, value) VALUES
    ('program', 'local_memory'),
    ('session', 'stored'),
    ('stall_threshold_ns', 100000),
    ('state', 'complete'),
    ('unix_offset_ns', 1795240477464818743);
INSERT INTO api (id, name, class) VALUES
    (1, 'cuInit', 'init'),
    (2, 'cuDevicePrimaryCtxRetain', 'context'),
    (3, 'cuCtxSetCurrent', 'context'),
    (4, 'cuStreamCreate', 'stream'),
    (5, 'cuModuleLoadData', 'load'),
    (6, 'cuModuleGetFunction', 'function'),
    (7, 'cuLaunchKernel', 'launch'),
    (8, 'cuCtxSynchronize', 'sync'),
    (9, 'cuMemAlloc_v2', 'alloc'),
    (10, 'cuStreamDestroy_v2', 'stream'),
    (11, 'cuDevicePrimaryCtxRelease_v2', 'context');
INSERT INTO process (id, identity, pid, parent_pid, start_ticks, program, executable, arguments, directory, forked, driver_version, start_ns, end_ns, ended, exit_code, gpu, cupti_version, cupti_library, gpu_flushed_ns) VALUES
    (1, -4230667696161725411, 813, 414, 4689, 'local_memory', '/home/u/local_memory', '/home/u/local_memory 150', '/home/u/busy', 0, 13000, 2175295, 348217008, 'exit', 0, 'cupti', 130001, '/home/u/libcupti.so.13', 347865617);
INSERT INTO thread (id, process, serial, tid, name, records) VALUES
    (1, 1, 1, 813, 'local_memory', 57),
    (2, 1, 4611686018427387904, 819, 'gpuverify-gpu', 21);
INSERT INTO context (id, process, handle) VALUES
    (1, 1, 93949708011568);
INSERT INTO stream (id, process, context, handle, kind) VALUES
    (1, 1, 1, 93949722840624, 'created'),
    (2, 1, 1, 93949722845808, 'created');
INSERT INTO kernel (id, process, number, name, module, handle, named_ns) VALUES
    (1, 1, 1, 'empty', 1, 93949727911568, 126132021),
    (2, 1, 2, 'spin', 1, 93949727877360, 126139780),
    (3, 1, 3, 'deep', 2, 93949739136288, 135429036);
INSERT INTO module (id, process, number) VALUES
    (1, 1, 1),
    (2, 1, 2);
INSERT INTO call (id, thread, api, start_ns, duration_ns, result, stream, context, bytes, object, kernel, correlation) VALUES
    (1, 1, 1, 3022875, 8214803, 0, NULL, NULL, NULL, NULL, NULL, NULL),
    (2, 1, 2, 18188757, 107625269, 0, NULL, NULL, NULL, 93949708011568, NULL, NULL),
    (3, 1, 3, 125855725, 1027, 0, NULL, 1, NULL, 93949708011568, NULL, NULL),
    (4, 1, 4, 125859123, 82941, 0, NULL, 1, NULL, 93949722840624, NULL, NULL),
    (5, 1, 4, 125942333, 1547, 0, NULL, 1, NULL, 93949722845808, NULL, NULL),
    (6, 1, 5, 125945704, 149663, 0, NULL, 1, NULL, 93949727818784, NULL, 1),
    (7, 1, 6, 126115873, 12582, 0, NULL, 1, NULL, NULL, NULL, NULL),
    (8, 1, 6, 126132263, 5055, 0, NULL, 1, NULL, NULL, NULL, NULL),
    (9, 1, 7, 126141845, 26408, 0, 1, NULL, NULL, NULL, 2, 2),
    (10, 1, 7, 126168400, 5056, 0, 2, NULL, NULL, NULL, 1, 3),
    (11, 1, 8, 126175163, 3773, 0, NULL, 1, NULL, NULL, NULL, NULL),
    (12, 1, 9, 126180820, 43681, 0, NULL, 1, 4096, 140629218689024, NULL, NULL),
    (13, 1, 5, 126224615, 9147732, 0, NULL, 1, NULL, 93949739135152, NULL, 4),
    (14, 1, 6, 135406856, 19171, 0, NULL, 1, NULL, NULL, NULL, NULL),
    (15, 1, 7, 135430034, 21257, 0, 1, NULL, NULL, NULL, 2, 5),
    (16, 1, 7, 135453416, 150816246, 0, 2, NULL, NULL, NULL, 3, 6),
    (17, 1, 8, 286317291, 7868, 0, NULL, 1, NULL, NULL, NULL, NULL),
    (18, 1, 10, 286328830, 292948, 0, 1, NULL, NULL, NULL, NULL, NULL),
    (19, 1, 10, 286644264, 8099, 0, 2, NULL, NULL, NULL, NULL, NULL),
    (20, 1, 11, 286655623, 60865416, 0, NULL, 1, NULL, NULL, NULL, NULL);
INSERT INTO call_module (call, module) VALUES
    (6, 1),
    (13, 2);
INSERT INTO call_stack (call, stack) VALUES
    (1, 1),
    (2, 2),
    (6, 3),
    (13, 4),
    (16, 5),
    (18, 6),
    (20, 7);
INSERT INTO load (id, thread, api, call, start_ns, duration_ns, result, kind, image, bytes, hash, handle, module, library) VALUES
    (1, 1, 5, 6, 125945704, 149663, 0, 'ptx', 'ptx', 683, 4406517717270771379, 93949727818784, 1, '/home/u/local_memory'),
    (2, 1, 5, 13, 126224615, 9147732, 0, 'ptx', 'ptx', 482, 8054420132901736599, 93949739135152, 2, '/home/u/local_memory');
INSERT INTO stack (id, process, number) VALUES
    (1, 1, 1),
    (2, 1, 2),
    (3, 1, 3),
    (4, 1, 4),
    (5, 1, 5),
    (6, 1, 6),
    (7, 1, 7);
INSERT INTO frame (stack, depth, kind, function, library, address, object) VALUES
    (1, 0, 'native', 'main', '/home/u/local_memory', 4652, 1),
    (2, 0, 'native', 'main', '/home/u/local_memory', 4694, 1),
    (3, 0, 'native', 'main', '/home/u/local_memory', 4783, 1),
    (4, 0, 'native', 'main', '/home/u/local_memory', 4988, 1),
    (5, 0, 'native', 'main', '/home/u/local_memory', 5128, 1),
    (6, 0, 'native', 'main', '/home/u/local_memory', 5252, 1),
    (7, 0, 'native', 'main', '/home/u/local_memory', 5287, 1);
INSERT INTO device (id, process, device, name, uuid, cc_major, cc_minor, multiprocessors, memory_bytes, clock_khz, memory_clock_khz) VALUES
    (1, 1, 0, 'NVIDIA H200', 'GPU-00000000-0000-0000-0000-000000000001', 9, 0, 132, 150109880320, 1980000, 3201000);
INSERT INTO gpu_name (id, process, number, name, linkage) VALUES
    (1, 1, 1, 'spin', 'spin'),
    (2, 1, 2, 'empty', 'empty'),
    (3, 1, 3, 'deep', 'deep');
INSERT INTO gpu_shape (id, process, number, name, grid_x, grid_y, grid_z, block_x, block_y, block_z, registers, static_shared_bytes, dynamic_shared_bytes, local_bytes) VALUES
    (1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 16, 0, 0, 0),
    (2, 1, 2, 2, 1, 1, 1, 1, 1, 1, 16, 0, 0, 0),
    (3, 1, 3, 3, 1, 1, 1, 32, 1, 1, 16, 0, 0, 0);
INSERT INTO gpu_place (id, process, device, context, stream) VALUES
    (1, 1, 0, 1, 13),
    (2, 1, 0, 1, 14);
INSERT INTO gpu_op (id, place, kind, shape, start_ns, duration_ns, call) VALUES
    (1, 1, 1, 1, 126168625, 736, 9),
    (2, 2, 1, 2, 126175793, 576, 10),
    (3, 1, 1, 1, 135451610, 150000650, 15),
    (4, 2, 1, 3, 286262629, 1728, 16);
INSERT INTO jit (id, process, start_ns, duration_ns, operation, entry, cache_bytes, device, call) VALUES
    (1, 1, 125961165, 40871, 1, 1, 1073741824, 0, 6),
    (2, 1, 126237563, 9001030, 3, 1, NULL, 0, 13),
    (3, 1, 135241017, 90753, 2, 1, 1073741824, 0, 13);
INSERT INTO overhead (id, process, kind, start_ns, duration_ns, tid) VALUES
    (1, 1, 327680, 126117075, 11127, 4042057664),
    (2, 1, 327680, 126132496, 4719, 4042057664),
    (3, 1, 327680, 135408576, 17038, 4042057664);
INSERT INTO gpu_module (id, process, number, at_ns, bytes, hash, tid, call) VALUES
    (1, 1, 23, 126085814, 6936, 3738806271958660673, 813, 6),
    (2, 1, 24, 135364275, 3568, -562595305456792640, 813, 13);
