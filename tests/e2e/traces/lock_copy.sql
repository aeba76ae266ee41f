-- kernels/stalls/lock_copy on an H200, CUDA 13.0. Not analysed yet.
INSERT INTO meta (key, value) VALUES
    ('program', 'lock_copy'),
    ('session', 'stored'),
    ('stall_threshold_ns', 100000),
    ('state', 'complete'),
    ('unix_offset_ns', 1795240479784026509);
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
    (10, 'cuMemAllocHost_v2', 'alloc'),
    (11, 'cuEventCreate', 'event'),
    (12, 'cuMemcpyHtoDAsync_v2', 'copy'),
    (13, 'cuEventRecord', 'event'),
    (14, 'cuModuleUnload', 'unload'),
    (15, 'cuStreamDestroy_v2', 'stream'),
    (16, 'cuDevicePrimaryCtxRelease_v2', 'context');
INSERT INTO process (id, identity, pid, parent_pid, start_ticks, program, executable, arguments, directory, forked, driver_version, start_ns, end_ns, ended, exit_code, gpu, cupti_version, cupti_library, gpu_flushed_ns) VALUES
    (1, 2418943453936587615, 879, 414, 4921, 'lock_copy', '/home/u/lock_copy', '/home/u/lock_copy 150', '/home/u/busy', 0, 13000, 2167361, 324514761, 'exit', 0, 'cupti', 130001, '/home/u/libcupti.so.13', 323985054);
INSERT INTO thread (id, process, serial, tid, name, records) VALUES
    (1, 1, 1, 879, 'lock_copy', 58),
    (2, 1, 2, 888, 'lock_copy', 7),
    (3, 1, 4611686018427387904, 885, 'gpuverify-gpu', 19);
INSERT INTO context (id, process, handle) VALUES
    (1, 1, 94714101782576);
INSERT INTO stream (id, process, context, handle, kind) VALUES
    (1, 1, 1, 94714116611888, 'created'),
    (2, 1, 1, 94714116617072, 'created');
INSERT INTO kernel (id, process, number, name, module, handle, named_ns) VALUES
    (1, 1, 1, 'empty', 1, 94714121682832, 115562226),
    (2, 1, 2, 'spin', 1, 94714121648624, 115570581);
INSERT INTO module (id, process, number, unloaded_ns) VALUES
    (1, 1, 1, NULL),
    (2, 1, 2, 116399377),
    (3, 1, 3, NULL);
INSERT INTO call (id, thread, api, start_ns, duration_ns, result, stream, context, bytes, object, kernel, correlation) VALUES
    (1, 1, 1, 3066636, 8210632, 0, NULL, NULL, NULL, NULL, NULL, NULL),
    (2, 1, 2, 17986922, 97251321, 0, NULL, NULL, NULL, 94714101782576, NULL, NULL),
    (3, 1, 3, 115273609, 1082, 0, NULL, 1, NULL, 94714101782576, NULL, NULL),
    (4, 1, 4, 115276273, 85846, 0, NULL, 1, NULL, 94714116611888, NULL, NULL),
    (5, 1, 4, 115362352, 1936, 0, NULL, 1, NULL, 94714116617072, NULL, NULL),
    (6, 1, 5, 115366299, 158005, 0, NULL, 1, NULL, 94714121590048, NULL, 1),
    (7, 1, 6, 115545253, 13481, 0, NULL, 1, NULL, NULL, NULL, NULL),
    (8, 1, 6, 115562474, 5420, 0, NULL, 1, NULL, NULL, NULL, NULL),
    (9, 1, 7, 115572590, 25833, 0, 1, NULL, NULL, NULL, 2, 2),
    (10, 1, 7, 115598598, 4453, 0, 2, NULL, NULL, NULL, 1, 3),
    (11, 1, 8, 115604611, 4334, 0, NULL, 1, NULL, NULL, NULL, NULL),
    (12, 1, 9, 115610737, 44595, 0, NULL, 1, 4096, 140531575291904, NULL, NULL),
    (13, 1, 10, 115657112, 607045, 0, NULL, 1, 4096, 140531577389056, NULL, NULL),
    (14, 1, 11, 116286368, 2848, 0, NULL, 1, NULL, 94714121728448, NULL, NULL),
    (15, 1, 12, 116290959, 16027, 0, 2, NULL, 4096, NULL, NULL, 4),
    (16, 1, 13, 116308276, 3545, 0, 2, NULL, NULL, 94714121728448, NULL, NULL),
    (17, 1, 5, 116311993, 74028, 0, NULL, 1, NULL, 94714121735200, NULL, 5),
    (18, 1, 14, 116391571, 7686, 0, NULL, 1, NULL, 94714121735200, NULL, NULL),
    (19, 1, 8, 116399524, 1461, 0, NULL, 1, NULL, NULL, NULL, NULL),
    (20, 1, 7, 116401293, 10595, 0, 1, NULL, NULL, NULL, 2, 6),
    (21, 2, 3, 116688611, 18299, 0, NULL, 1, NULL, 94714101782576, NULL, NULL),
    (22, 1, 12, 136553156, 130154030, 0, 2, NULL, 4096, NULL, NULL, 8),
    (23, 1, 8, 266742753, 10064, 0, NULL, 1, NULL, NULL, NULL, NULL),
    (24, 1, 15, 266756305, 12783, 0, 1, NULL, NULL, NULL, NULL, NULL),
    (25, 1, 15, 266769244, 3500, 0, 2, NULL, NULL, NULL, NULL, NULL),
    (26, 2, 5, 116722127, 149767640, 0, NULL, 1, NULL, 140530994415152, NULL, 7),
    (27, 1, 16, 266776244, 57007017, 0, NULL, 1, NULL, NULL, NULL, NULL);
INSERT INTO call_module (call, module) VALUES
    (6, 1),
    (17, 2),
    (18, 2),
    (26, 3);
INSERT INTO call_stack (call, stack) VALUES
    (1, 1),
    (2, 2),
    (6, 3),
    (13, 4),
    (22, 5),
    (26, 6),
    (27, 7);
INSERT INTO load (id, thread, api, call, start_ns, duration_ns, result, kind, image, bytes, hash, handle, module, library) VALUES
    (1, 1, 5, 6, 115366299, 158005, 0, 'ptx', 'ptx', 683, 4406517717270771379, 94714121590048, 1, '/home/u/lock_copy'),
    (2, 1, 5, 17, 116311993, 74028, 0, 'ptx', 'ptx', 381, -2401526474482554300, 94714121735200, 2, '/home/u/lock_copy'),
    (3, 2, 5, 26, 116722127, 149767640, 0, 'ptx', 'ptx', 381, -2401526474482554300, 140530994415152, 3, '/home/u/lock_copy');
INSERT INTO stack (id, process, number) VALUES
    (1, 1, 1),
    (2, 1, 2),
    (3, 1, 3),
    (4, 1, 4),
    (5, 1, 6),
    (6, 1, 5),
    (7, 1, 7);
INSERT INTO frame (stack, depth, kind, function, library, address, object) VALUES
    (1, 0, 'native', 'main', '/home/u/lock_copy', 4784, 1),
    (2, 0, 'native', 'main', '/home/u/lock_copy', 4832, 1),
    (3, 0, 'native', 'main', '/home/u/lock_copy', 4929, 1),
    (4, 0, 'native', 'main', '/home/u/lock_copy', 5146, 1),
    (5, 0, 'native', 'main', '/home/u/lock_copy', 5415, 1),
    (6, 0, 'native', 'load', '/home/u/lock_copy', 6767, 1),
    (7, 0, 'native', 'main', '/home/u/lock_copy', 5588, 1);
INSERT INTO device (id, process, device, name, uuid, cc_major, cc_minor, multiprocessors, memory_bytes, clock_khz, memory_clock_khz) VALUES
    (1, 1, 0, 'NVIDIA H200', 'GPU-00000000-0000-0000-0000-000000000001', 9, 0, 132, 150109880320, 1980000, 3201000);
INSERT INTO gpu_name (id, process, number, name, linkage) VALUES
    (1, 1, 1, 'spin', 'spin'),
    (2, 1, 2, 'empty', 'empty');
INSERT INTO gpu_shape (id, process, number, name, grid_x, grid_y, grid_z, block_x, block_y, block_z, registers, static_shared_bytes, dynamic_shared_bytes, local_bytes) VALUES
    (1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 16, 0, 0, 0),
    (2, 1, 2, 2, 1, 1, 1, 1, 1, 1, 16, 0, 0, 0);
INSERT INTO gpu_place (id, process, device, context, stream) VALUES
    (1, 1, 0, 1, 13),
    (2, 1, 0, 1, 14);
INSERT INTO gpu_op (id, place, kind, shape, start_ns, duration_ns, call, bytes, copy_kind) VALUES
    (1, 1, 1, 1, 115598609, 736, 9, NULL, NULL),
    (2, 2, 1, 2, 115605393, 576, 10, NULL, NULL),
    (3, 2, 2, NULL, 116307827, 1087, 15, 4096, 1),
    (4, 1, 1, 1, 116413651, 150000819, 20, NULL, NULL),
    (5, 2, 2, NULL, 266701574, 928, 22, 4096, 1);
INSERT INTO jit (id, process, start_ns, duration_ns, operation, entry, cache_bytes, device, call) VALUES
    (1, 1, 115379765, 37330, 1, 1, 1073741824, 0, 6),
    (2, 1, 116317780, 28869, 1, 1, 1073741824, 0, 17),
    (3, 1, 116761324, 38195, 1, 1, 1073741824, 0, 26);
INSERT INTO overhead (id, process, kind, start_ns, duration_ns, tid) VALUES
    (1, 1, 327680, 115546369, 12040, 898844608),
    (2, 1, 327680, 115562685, 5114, 898844608);
INSERT INTO gpu_module (id, process, number, at_ns, bytes, hash, tid, call) VALUES
    (1, 1, 23, 115514778, 6936, 3738806271958660673, 879, 6),
    (2, 1, 24, 116378902, 5064, 3781127249124711964, 879, 17),
    (3, 1, 25, 266463497, 5064, 3781127249124711964, 888, 26);
