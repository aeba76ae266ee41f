PRAGMA application_id = 1198552406;
PRAGMA user_version = 5;
BEGIN TRANSACTION;
CREATE TABLE api (id INTEGER PRIMARY KEY, name TEXT NOT NULL, class TEXT NOT NULL);
INSERT INTO "api" VALUES(1,'cuInit','init');
INSERT INTO "api" VALUES(2,'cuDevicePrimaryCtxRetain','context');
INSERT INTO "api" VALUES(3,'cuCtxSetCurrent','context');
INSERT INTO "api" VALUES(4,'cuStreamCreate','stream');
INSERT INTO "api" VALUES(5,'cuModuleLoadData','load');
INSERT INTO "api" VALUES(6,'cuModuleGetFunction','function');
INSERT INTO "api" VALUES(7,'cuLaunchKernel','launch');
INSERT INTO "api" VALUES(8,'cuCtxSynchronize','sync');
INSERT INTO "api" VALUES(9,'cuLibraryLoadData','load');
INSERT INTO "api" VALUES(10,'cuLibraryGetKernel','function');
INSERT INTO "api" VALUES(11,'cuStreamDestroy_v2','stream');
INSERT INTO "api" VALUES(12,'cuDevicePrimaryCtxRelease_v2','context');
CREATE TABLE api_total (api INTEGER PRIMARY KEY, count INTEGER NOT NULL,
    errors INTEGER NOT NULL, total_ns INTEGER NOT NULL, min_ns INTEGER NOT NULL,
    median_ns INTEGER NOT NULL, max_ns INTEGER NOT NULL, bytes INTEGER NOT NULL);
INSERT INTO "api_total" VALUES(1,1,0,9183,9183,9183,9183,0);
INSERT INTO "api_total" VALUES(2,1,0,1066845,1066845,1066845,1066845,0);
INSERT INTO "api_total" VALUES(3,1,0,460,460,460,460,0);
INSERT INTO "api_total" VALUES(4,2,0,14271,6369,6372,7902,0);
INSERT INTO "api_total" VALUES(5,1,0,5288195,5288195,5288195,5288195,0);
INSERT INTO "api_total" VALUES(6,2,0,4968,481,481,4487,0);
INSERT INTO "api_total" VALUES(7,6,0,150295477,952,2214,150251611,0);
INSERT INTO "api_total" VALUES(8,3,0,150104808,721,1313,150102775,0);
INSERT INTO "api_total" VALUES(9,1,0,5090592,5090592,5090592,5090592,0);
INSERT INTO "api_total" VALUES(10,1,0,4427,4427,4427,4427,0);
INSERT INTO "api_total" VALUES(11,2,0,4587,211,211,4376,0);
INSERT INTO "api_total" VALUES(12,1,0,557788,557788,557788,557788,0);
CREATE TABLE call (id INTEGER PRIMARY KEY, thread INTEGER NOT NULL, api INTEGER NOT NULL,
    start_ns INTEGER NOT NULL, duration_ns INTEGER NOT NULL, result INTEGER, stream INTEGER,
    context INTEGER, bytes INTEGER, object INTEGER, kernel INTEGER, correlation INTEGER);
INSERT INTO "call" VALUES(1,1,1,3604399,9183,0,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "call" VALUES(2,1,2,15427121,1066845,0,NULL,NULL,NULL,94469261462512,NULL,NULL);
INSERT INTO "call" VALUES(3,1,3,16767773,460,0,NULL,1,NULL,94469261462512,NULL,NULL);
INSERT INTO "call" VALUES(4,1,4,16772720,7902,0,NULL,1,NULL,94469261473312,NULL,NULL);
INSERT INTO "call" VALUES(5,1,4,16780742,6369,0,NULL,1,NULL,94469261481632,NULL,NULL);
INSERT INTO "call" VALUES(6,1,5,16791238,5288195,0,NULL,1,NULL,94469261490432,NULL,8);
INSERT INTO "call" VALUES(7,1,6,22139262,4487,0,NULL,1,NULL,NULL,NULL,NULL);
INSERT INTO "call" VALUES(8,1,6,22148846,481,0,NULL,1,NULL,NULL,NULL,NULL);
INSERT INTO "call" VALUES(9,1,7,22166552,36064,0,1,NULL,NULL,NULL,2,11);
INSERT INTO "call" VALUES(10,1,7,22202826,952,0,2,NULL,NULL,NULL,1,12);
INSERT INTO "call" VALUES(11,1,8,22207844,721,0,NULL,1,NULL,NULL,NULL,NULL);
INSERT INTO "call" VALUES(12,1,9,22212451,5090592,0,NULL,1,NULL,94469261491072,NULL,14);
INSERT INTO "call" VALUES(13,1,10,27460977,4427,0,NULL,1,NULL,NULL,NULL,NULL);
INSERT INTO "call" VALUES(14,1,7,27471433,3405,0,1,NULL,NULL,NULL,2,16);
INSERT INTO "call" VALUES(15,1,7,27476931,150251611,0,2,NULL,NULL,NULL,3,17);
INSERT INTO "call" VALUES(16,1,8,177858214,1312,0,NULL,1,NULL,NULL,NULL,NULL);
INSERT INTO "call" VALUES(17,1,7,177861059,2213,0,1,NULL,NULL,NULL,2,19);
INSERT INTO "call" VALUES(18,1,7,177863362,1232,0,2,NULL,NULL,NULL,3,20);
INSERT INTO "call" VALUES(19,1,8,177868079,150102775,0,NULL,1,NULL,NULL,NULL,NULL);
INSERT INTO "call" VALUES(20,1,11,328042240,4376,0,1,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "call" VALUES(21,1,11,328046686,211,0,2,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "call" VALUES(22,1,12,328052185,557788,0,NULL,NULL,NULL,94469261462512,NULL,NULL);
CREATE TABLE call_module (call INTEGER PRIMARY KEY, module INTEGER NOT NULL);
INSERT INTO "call_module" VALUES(6,1);
INSERT INTO "call_module" VALUES(12,2);
CREATE TABLE call_stack (call INTEGER PRIMARY KEY, stack INTEGER NOT NULL);
INSERT INTO "call_stack" VALUES(2,1);
INSERT INTO "call_stack" VALUES(6,2);
INSERT INTO "call_stack" VALUES(12,3);
INSERT INTO "call_stack" VALUES(15,4);
INSERT INTO "call_stack" VALUES(19,5);
INSERT INTO "call_stack" VALUES(22,6);
CREATE TABLE context (id INTEGER PRIMARY KEY, process INTEGER NOT NULL, handle INTEGER NOT NULL);
INSERT INTO "context" VALUES(1,1,94469261462512);
CREATE TABLE copy_kind (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
INSERT INTO "copy_kind" VALUES(1,'host to device');
INSERT INTO "copy_kind" VALUES(2,'device to host');
INSERT INTO "copy_kind" VALUES(3,'host to array');
INSERT INTO "copy_kind" VALUES(4,'array to host');
INSERT INTO "copy_kind" VALUES(5,'array to array');
INSERT INTO "copy_kind" VALUES(6,'array to device');
INSERT INTO "copy_kind" VALUES(7,'device to array');
INSERT INTO "copy_kind" VALUES(8,'device to device');
INSERT INTO "copy_kind" VALUES(9,'host to host');
INSERT INTO "copy_kind" VALUES(10,'peer to peer');
CREATE TABLE copy_total (copy_kind INTEGER PRIMARY KEY, count INTEGER NOT NULL,
    total_ns INTEGER NOT NULL, min_ns INTEGER NOT NULL, median_ns INTEGER NOT NULL,
    max_ns INTEGER NOT NULL, bytes INTEGER NOT NULL);
CREATE TABLE device (id INTEGER PRIMARY KEY, process INTEGER NOT NULL, device INTEGER NOT NULL,
    name TEXT, uuid TEXT, cc_major INTEGER, cc_minor INTEGER, multiprocessors INTEGER,
    memory_bytes INTEGER, clock_khz INTEGER, memory_clock_khz INTEGER);
INSERT INTO "device" VALUES(1,1,0,'GV_SIM simulated GPU 0','GPU-67762d73-696d-2d64-6576-6963652d2300',9,0,132,17179869184,1980000,2619000);
CREATE TABLE device_total (number INTEGER PRIMARY KEY, device INTEGER, operations INTEGER NOT NULL,
    first_ns INTEGER NOT NULL, last_ns INTEGER NOT NULL, busy_ns INTEGER NOT NULL,
    kernel_ns INTEGER NOT NULL, copy_ns INTEGER NOT NULL, gaps INTEGER NOT NULL,
    short_gaps INTEGER NOT NULL, short_gap_ns INTEGER NOT NULL);
INSERT INTO "device_total" VALUES(1,1,6,22194921,327862061,300004000,300004000,0,4,3,395353);
CREATE TABLE error_total (api INTEGER NOT NULL, result INTEGER NOT NULL, count INTEGER NOT NULL,
    PRIMARY KEY (api, result)) WITHOUT ROWID;
CREATE TABLE fact (key TEXT PRIMARY KEY NOT NULL, value INTEGER) WITHOUT ROWID;
INSERT INTO "fact" VALUES('alloc_calls',0);
INSERT INTO "fact" VALUES('alloc_ns',0);
INSERT INTO "fact" VALUES('blocks_known_ns',300006000);
INSERT INTO "fact" VALUES('calls',22);
INSERT INTO "fact" VALUES('compiling_ns',10135236);
INSERT INTO "fact" VALUES('context_calls',3);
INSERT INTO "fact" VALUES('context_ns',1625093);
INSERT INTO "fact" VALUES('copy_calls',0);
INSERT INTO "fact" VALUES('copy_ns',0);
INSERT INTO "fact" VALUES('filled_ns',2272772);
INSERT INTO "fact" VALUES('first_ns',3604399);
INSERT INTO "fact" VALUES('first_use_ns',11710797);
INSERT INTO "fact" VALUES('found_operations',6);
INSERT INTO "fact" VALUES('free_calls',0);
INSERT INTO "fact" VALUES('free_ns',0);
INSERT INTO "fact" VALUES('gpu_busy_ns',300004000);
INSERT INTO "fact" VALUES('gpu_copy_ns',0);
INSERT INTO "fact" VALUES('gpu_kernel_ns',300004000);
INSERT INTO "fact" VALUES('gpu_known_ns',9223372036854775807);
INSERT INTO "fact" VALUES('graph_calls',0);
INSERT INTO "fact" VALUES('graph_ns',0);
INSERT INTO "fact" VALUES('graph_time_ns',0);
INSERT INTO "fact" VALUES('graphs',0);
INSERT INTO "fact" VALUES('host_copy_ns',0);
INSERT INTO "fact" VALUES('init_calls',1);
INSERT INTO "fact" VALUES('init_ns',9183);
INSERT INTO "fact" VALUES('kernel_time_ns',300006000);
INSERT INTO "fact" VALUES('last_ns',328609973);
INSERT INTO "fact" VALUES('latency_count',6);
INSERT INTO "fact" VALUES('latency_max_ns',150246944);
INSERT INTO "fact" VALUES('latency_median_ns',1002);
INSERT INTO "fact" VALUES('latency_min_ns',407);
INSERT INTO "fact" VALUES('latency_total_ns',150278981);
INSERT INTO "fact" VALUES('launch_calls',6);
INSERT INTO "fact" VALUES('launch_failed',0);
INSERT INTO "fact" VALUES('launch_ns',150295477);
INSERT INTO "fact" VALUES('launched_kernels',3);
INSERT INTO "fact" VALUES('load_calls',2);
INSERT INTO "fact" VALUES('load_ns',10378787);
INSERT INTO "fact" VALUES('loading_ns',10634309);
INSERT INTO "fact" VALUES('loads',3);
INSERT INTO "fact" VALUES('memory_known',1);
INSERT INTO "fact" VALUES('memory_left_bytes',0);
INSERT INTO "fact" VALUES('memory_peak_at_ns',0);
INSERT INTO "fact" VALUES('memory_peak_bytes',0);
INSERT INTO "fact" VALUES('operations',6);
INSERT INTO "fact" VALUES('other_calls',7);
INSERT INTO "fact" VALUES('other_ns',28253);
INSERT INTO "fact" VALUES('set_calls',0);
INSERT INTO "fact" VALUES('set_ns',0);
INSERT INTO "fact" VALUES('start_ns',1076488);
INSERT INTO "fact" VALUES('stretch_ns',524288);
INSERT INTO "fact" VALUES('sync_calls',3);
INSERT INTO "fact" VALUES('sync_ns',150104808);
INSERT INTO "fact" VALUES('thread_copy_ns',0);
INSERT INTO "fact" VALUES('thread_launch_ns',299388);
INSERT INTO "fact" VALUES('thread_ns',312441601);
INSERT INTO "fact" VALUES('underfilled_ns',300006000);
INSERT INTO "fact" VALUES('unload_calls',0);
INSERT INTO "fact" VALUES('unload_ns',0);
INSERT INTO "fact" VALUES('untimed_operations',0);
CREATE TABLE flight (process INTEGER NOT NULL, thread_serial INTEGER, tid INTEGER, name TEXT,
    api INTEGER NOT NULL, start_ns INTEGER NOT NULL, kernel INTEGER, stream_handle INTEGER,
    seen_ns INTEGER, cause TEXT, waited_for INTEGER, blocked_by_thread INTEGER, confidence TEXT,
    state TEXT, advice TEXT);
CREATE TABLE frame (stack INTEGER NOT NULL, depth INTEGER NOT NULL, kind TEXT NOT NULL,
    function TEXT, library TEXT, file TEXT, line INTEGER, address INTEGER, object INTEGER,
    PRIMARY KEY (stack, depth)) WITHOUT ROWID;
INSERT INTO "frame" VALUES(1,0,'native','main','/home/user/lazy_launch','../kernels/stalls/stage.h',87,4702,1);
INSERT INTO "frame" VALUES(1,1,'native','__libc_start_call_main','/lib/x86_64-linux-gnu/libc.so.6','../sysdeps/nptl/libc_start_call_main.h',58,160330,2);
INSERT INTO "frame" VALUES(1,2,'native','__libc_start_main@@GLIBC_2.34','/lib/x86_64-linux-gnu/libc.so.6','../csu/libc-start.c',360,160517,2);
INSERT INTO "frame" VALUES(1,3,'native','_start','/home/user/lazy_launch',NULL,NULL,6081,1);
INSERT INTO "frame" VALUES(2,0,'native','main','/home/user/lazy_launch','../kernels/stalls/stage.h',74,4791,1);
INSERT INTO "frame" VALUES(2,1,'native','__libc_start_call_main','/lib/x86_64-linux-gnu/libc.so.6','../sysdeps/nptl/libc_start_call_main.h',58,160330,2);
INSERT INTO "frame" VALUES(2,2,'native','__libc_start_main@@GLIBC_2.34','/lib/x86_64-linux-gnu/libc.so.6','../csu/libc-start.c',360,160517,2);
INSERT INTO "frame" VALUES(2,3,'native','_start','/home/user/lazy_launch',NULL,NULL,6081,1);
INSERT INTO "frame" VALUES(3,0,'native','main','/home/user/lazy_launch','../kernels/stalls/lazy_launch.c',12,4983,1);
INSERT INTO "frame" VALUES(3,1,'native','__libc_start_call_main','/lib/x86_64-linux-gnu/libc.so.6','../sysdeps/nptl/libc_start_call_main.h',58,160330,2);
INSERT INTO "frame" VALUES(3,2,'native','__libc_start_main@@GLIBC_2.34','/lib/x86_64-linux-gnu/libc.so.6','../csu/libc-start.c',360,160517,2);
INSERT INTO "frame" VALUES(3,3,'native','_start','/home/user/lazy_launch',NULL,NULL,6081,1);
INSERT INTO "frame" VALUES(4,0,'native','main','/home/user/lazy_launch','../kernels/stalls/lazy_launch.c',15,5094,1);
INSERT INTO "frame" VALUES(4,1,'native','__libc_start_call_main','/lib/x86_64-linux-gnu/libc.so.6','../sysdeps/nptl/libc_start_call_main.h',58,160330,2);
INSERT INTO "frame" VALUES(4,2,'native','__libc_start_main@@GLIBC_2.34','/lib/x86_64-linux-gnu/libc.so.6','../csu/libc-start.c',360,160517,2);
INSERT INTO "frame" VALUES(4,3,'native','_start','/home/user/lazy_launch',NULL,NULL,6081,1);
INSERT INTO "frame" VALUES(5,0,'native','main','/home/user/lazy_launch','../kernels/stalls/stage.h',116,5336,1);
INSERT INTO "frame" VALUES(5,1,'native','__libc_start_call_main','/lib/x86_64-linux-gnu/libc.so.6','../sysdeps/nptl/libc_start_call_main.h',58,160330,2);
INSERT INTO "frame" VALUES(5,2,'native','__libc_start_main@@GLIBC_2.34','/lib/x86_64-linux-gnu/libc.so.6','../csu/libc-start.c',360,160517,2);
INSERT INTO "frame" VALUES(5,3,'native','_start','/home/user/lazy_launch',NULL,NULL,6081,1);
INSERT INTO "frame" VALUES(6,0,'native','main','/home/user/lazy_launch','../kernels/stalls/stage.h',119,5389,1);
INSERT INTO "frame" VALUES(6,1,'native','__libc_start_call_main','/lib/x86_64-linux-gnu/libc.so.6','../sysdeps/nptl/libc_start_call_main.h',58,160330,2);
INSERT INTO "frame" VALUES(6,2,'native','__libc_start_main@@GLIBC_2.34','/lib/x86_64-linux-gnu/libc.so.6','../csu/libc-start.c',360,160517,2);
INSERT INTO "frame" VALUES(6,3,'native','_start','/home/user/lazy_launch',NULL,NULL,6081,1);
CREATE TABLE gap (id INTEGER PRIMARY KEY, device_total INTEGER NOT NULL,
    start_ns INTEGER NOT NULL, duration_ns INTEGER NOT NULL);
INSERT INTO "gap" VALUES(1,1,22205233,5267787);
INSERT INTO "gap" VALUES(2,1,177473020,250855);
INSERT INTO "gap" VALUES(3,1,177725875,136186);
INSERT INTO "gap" VALUES(4,1,22194921,8312);
CREATE TABLE gap_call (gap INTEGER NOT NULL, api INTEGER NOT NULL, total_ns INTEGER NOT NULL,
    PRIMARY KEY (gap, api)) WITHOUT ROWID;
INSERT INTO "gap_call" VALUES(1,7,1587);
INSERT INTO "gap_call" VALUES(1,8,721);
INSERT INTO "gap_call" VALUES(1,9,5090592);
INSERT INTO "gap_call" VALUES(1,10,4427);
INSERT INTO "gap_call" VALUES(2,7,250855);
INSERT INTO "gap_call" VALUES(3,7,3669);
INSERT INTO "gap_call" VALUES(3,8,1312);
INSERT INTO "gap_call" VALUES(4,7,8102);
CREATE TABLE gpu_module (id INTEGER PRIMARY KEY, process INTEGER NOT NULL,
    number INTEGER NOT NULL, at_ns INTEGER NOT NULL, bytes INTEGER, hash INTEGER, tid INTEGER,
    call INTEGER, correlation INTEGER);
INSERT INTO "gpu_module" VALUES(1,1,1,22056689,683,-4771066017999977700,24718,6,NULL);
INSERT INTO "gpu_module" VALUES(2,1,2,177719158,381,7457942241541179849,24718,15,NULL);
CREATE TABLE gpu_name (id INTEGER PRIMARY KEY, process INTEGER NOT NULL, number INTEGER NOT NULL,
    name TEXT, linkage TEXT);
INSERT INTO "gpu_name" VALUES(1,1,1,'spin','spin');
INSERT INTO "gpu_name" VALUES(2,1,2,'empty','empty');
INSERT INTO "gpu_name" VALUES(3,1,3,'second_empty','second_empty');
CREATE TABLE gpu_op (id INTEGER PRIMARY KEY, place INTEGER NOT NULL, kind INTEGER NOT NULL,
    shape INTEGER, start_ns INTEGER, duration_ns INTEGER, call INTEGER, bytes INTEGER,
    copy_kind INTEGER, graph_node INTEGER, correlation INTEGER);
INSERT INTO "gpu_op" VALUES(1,1,1,1,22194921,0,9,NULL,NULL,NULL,NULL);
INSERT INTO "gpu_op" VALUES(2,2,1,2,22203233,2000,10,NULL,NULL,NULL,NULL);
INSERT INTO "gpu_op" VALUES(3,1,1,1,27473020,150000000,14,NULL,NULL,NULL,NULL);
INSERT INTO "gpu_op" VALUES(4,2,1,3,177723875,2000,15,NULL,NULL,NULL,NULL);
INSERT INTO "gpu_op" VALUES(5,1,1,1,177862061,150000000,17,NULL,NULL,NULL,NULL);
INSERT INTO "gpu_op" VALUES(6,2,1,3,177864034,2000,18,NULL,NULL,NULL,NULL);
CREATE TABLE gpu_place (id INTEGER PRIMARY KEY, process INTEGER NOT NULL, device INTEGER NOT NULL,
    context INTEGER NOT NULL, stream INTEGER NOT NULL);
INSERT INTO "gpu_place" VALUES(1,1,0,1,11);
INSERT INTO "gpu_place" VALUES(2,1,0,1,12);
CREATE TABLE gpu_shape (id INTEGER PRIMARY KEY, process INTEGER NOT NULL, number INTEGER NOT NULL,
    name INTEGER, grid_x INTEGER, grid_y INTEGER, grid_z INTEGER, block_x INTEGER,
    block_y INTEGER, block_z INTEGER, registers INTEGER, static_shared_bytes INTEGER,
    dynamic_shared_bytes INTEGER, local_bytes INTEGER);
INSERT INTO "gpu_shape" VALUES(1,1,1,1,1,1,1,1,1,1,16,0,0,0);
INSERT INTO "gpu_shape" VALUES(2,1,2,2,1,1,1,1,1,1,16,0,0,0);
INSERT INTO "gpu_shape" VALUES(3,1,3,3,1,1,1,1,1,1,16,0,0,0);
CREATE TABLE jit (id INTEGER PRIMARY KEY, process INTEGER NOT NULL, start_ns INTEGER NOT NULL,
    duration_ns INTEGER NOT NULL, operation INTEGER, entry INTEGER, cache_bytes INTEGER,
    device INTEGER, call INTEGER, correlation INTEGER);
INSERT INTO "jit" VALUES(1,1,16836936,5067202,3,1,NULL,0,6,NULL);
INSERT INTO "jit" VALUES(2,1,22222275,5068034,3,1,NULL,0,12,NULL);
CREATE TABLE kernel (id INTEGER PRIMARY KEY, process INTEGER NOT NULL, number INTEGER NOT NULL,
    name TEXT, module INTEGER, handle INTEGER, named_ns INTEGER);
INSERT INTO "kernel" VALUES(1,1,1,'empty',1,94469261490512,22148626);
INSERT INTO "kernel" VALUES(2,1,2,'spin',1,94469261490640,22153844);
INSERT INTO "kernel" VALUES(3,1,3,'second_empty',2,94469261491600,27469941);
CREATE TABLE kernel_total (rank INTEGER PRIMARY KEY, name TEXT, count INTEGER NOT NULL,
    total_ns INTEGER NOT NULL, min_ns INTEGER NOT NULL, median_ns INTEGER NOT NULL,
    max_ns INTEGER NOT NULL, shape INTEGER, shapes INTEGER NOT NULL, device INTEGER);
INSERT INTO "kernel_total" VALUES(1,'empty',1,2000,2000,2000,2000,2,1,1);
INSERT INTO "kernel_total" VALUES(2,'second_empty',2,4000,2000,2000,2000,3,1,1);
INSERT INTO "kernel_total" VALUES(3,'spin',3,300000000,0,150000000,150000000,1,1,1);
CREATE TABLE launch_total (kernel INTEGER PRIMARY KEY, count INTEGER NOT NULL,
    total_ns INTEGER NOT NULL);
INSERT INTO "launch_total" VALUES(1,1,952);
INSERT INTO "launch_total" VALUES(2,3,41682);
INSERT INTO "launch_total" VALUES(3,2,150252843);
CREATE TABLE load (id INTEGER PRIMARY KEY, thread INTEGER NOT NULL, api INTEGER NOT NULL,
    call INTEGER, start_ns INTEGER NOT NULL, duration_ns INTEGER NOT NULL, result INTEGER,
    kind TEXT NOT NULL, image TEXT, name TEXT, bytes INTEGER, hash INTEGER, handle INTEGER,
    module INTEGER, library TEXT);
INSERT INTO "load" VALUES(1,1,5,6,16791238,5288195,0,'ptx','ptx',NULL,683,4406517717270771379,94469261490432,1,'/home/user/lazy_launch');
INSERT INTO "load" VALUES(2,1,9,12,22212451,5090592,0,'library','ptx',NULL,381,-2401526474482554300,94469261491072,2,'/home/user/lazy_launch');
CREATE TABLE load_wait (load INTEGER PRIMARY KEY, wait_ns INTEGER, gpu_busy INTEGER);
INSERT INTO "load_wait" VALUES(-2,149996089,1);
INSERT INTO "load_wait" VALUES(-1,0,0);
INSERT INTO "load_wait" VALUES(1,0,0);
INSERT INTO "load_wait" VALUES(2,0,0);
CREATE TABLE loss (process INTEGER NOT NULL, what TEXT NOT NULL, class TEXT NOT NULL,
    count INTEGER NOT NULL, PRIMARY KEY (process, what, class)) WITHOUT ROWID;
CREATE TABLE memory_left (call INTEGER PRIMARY KEY, space TEXT NOT NULL, bytes INTEGER NOT NULL);
CREATE TABLE meta (key TEXT PRIMARY KEY NOT NULL, value) WITHOUT ROWID;
INSERT INTO "meta" VALUES('arguments','./lazy_launch');
INSERT INTO "meta" VALUES('clock','tsc');
INSERT INTO "meta" VALUES('directory','/home/user');
INSERT INTO "meta" VALUES('driver_version',13000);
INSERT INTO "meta" VALUES('gpuverify_version','0.1.0');
INSERT INTO "meta" VALUES('host','vm');
INSERT INTO "meta" VALUES('program','lazy_launch');
INSERT INTO "meta" VALUES('schema_version',5);
INSERT INTO "meta" VALUES('session','24718-93825-2cde09b4');
INSERT INTO "meta" VALUES('spool_directory','/dev/shm/gpuverify-0');
INSERT INTO "meta" VALUES('stall_threshold_ns',100000);
INSERT INTO "meta" VALUES('stalls',5);
INSERT INTO "meta" VALUES('start_unix_ns',1795339702634361608);
INSERT INTO "meta" VALUES('state','complete');
INSERT INTO "meta" VALUES('totals',14);
INSERT INTO "meta" VALUES('unix_offset_ns',1795339702634361608);
INSERT INTO "meta" VALUES('watchdog_ns',10000000000);
CREATE TABLE module (id INTEGER PRIMARY KEY, process INTEGER NOT NULL, number INTEGER NOT NULL,
    unloaded_ns INTEGER);
INSERT INTO "module" VALUES(1,1,1,NULL);
INSERT INTO "module" VALUES(2,1,2,NULL);
CREATE TABLE object (id INTEGER PRIMARY KEY, process INTEGER NOT NULL, base INTEGER NOT NULL,
    low INTEGER NOT NULL, high INTEGER NOT NULL, path TEXT, build_id TEXT);
INSERT INTO "object" VALUES(1,1,94469095186432,94469095186432,94469095203056,'/home/user/lazy_launch','f1e333cae9aff4872cd3e27f3706239b068028ac');
INSERT INTO "object" VALUES(2,1,140715434827776,140715434827776,140715436801872,'/lib/x86_64-linux-gnu/libc.so.6','93ac61ec5a8eb1396f9fbd350e3169a558528a40');
CREATE TABLE overhead (id INTEGER PRIMARY KEY, process INTEGER NOT NULL, kind INTEGER NOT NULL,
    start_ns INTEGER NOT NULL, duration_ns INTEGER NOT NULL, tid INTEGER);
INSERT INTO "overhead" VALUES(1,1,327680,177581493,124786,3727882432);
CREATE TABLE process (id INTEGER PRIMARY KEY, identity INTEGER NOT NULL, pid INTEGER,
    parent_pid INTEGER, start_ticks INTEGER, program TEXT, executable TEXT, arguments TEXT,
    directory TEXT, forked INTEGER, driver_version INTEGER, start_ns INTEGER, end_ns INTEGER,
    ended TEXT, exit_code INTEGER, exit_signal INTEGER, gpu TEXT, gpu_why TEXT, cupti_version INTEGER,
    cupti_library TEXT, gpu_flushed_ns INTEGER);
INSERT INTO "process" VALUES(1,1450864489724477721,24718,24714,93825,'lazy_launch','/home/user/lazy_launch','./lazy_launch','/home/user',0,13000,2609571,328717563,'exit',0,NULL,'cupti',NULL,130000,'/usr/lib/gpuverify/tests/sim/libcupti.so.13',328668791);
CREATE TABLE sample (id INTEGER PRIMARY KEY, uuid TEXT, at_ns INTEGER NOT NULL,
    gpu_percent INTEGER, memory_percent INTEGER, memory_used_bytes INTEGER, power_mw INTEGER,
    sm_clock_mhz INTEGER, memory_clock_mhz INTEGER, temperature_c INTEGER);
CREATE TABLE stack (id INTEGER PRIMARY KEY, process INTEGER NOT NULL, number INTEGER NOT NULL,
    UNIQUE (process, number));
INSERT INTO "stack" VALUES(1,1,1);
INSERT INTO "stack" VALUES(2,1,2);
INSERT INTO "stack" VALUES(3,1,3);
INSERT INTO "stack" VALUES(4,1,4);
INSERT INTO "stack" VALUES(5,1,5);
INSERT INTO "stack" VALUES(6,1,6);
CREATE TABLE stall (id INTEGER PRIMARY KEY, call INTEGER NOT NULL, cause TEXT NOT NULL,
    expected INTEGER NOT NULL, jit_ns INTEGER NOT NULL, wait_ns INTEGER NOT NULL,
    work_ns INTEGER NOT NULL, waited_for INTEGER, blocked_by INTEGER, drained_count INTEGER,
    drained_ns INTEGER, confidence TEXT NOT NULL, advice INTEGER, presumed INTEGER);
INSERT INTO "stall" VALUES(1,6,'jit',0,5067202,0,220993,NULL,NULL,NULL,NULL,'measured',2,NULL);
INSERT INTO "stall" VALUES(2,12,'jit',0,5068034,0,22558,NULL,NULL,NULL,NULL,'measured',3,NULL);
INSERT INTO "stall" VALUES(3,15,'lazy-load',0,0,149996089,255522,3,NULL,1,150000000,'measured',4,NULL);
INSERT INTO "stall" VALUES(4,19,'explicit-sync',1,0,149993982,108793,5,NULL,1,150000000,'measured',NULL,NULL);
CREATE TABLE stall_advice (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
INSERT INTO "stall_advice" VALUES(1,'Look for what may have kept the thread from running: other programs on the processor, a debugger, a limit on processor time.');
INSERT INTO "stall_advice" VALUES(2,'Ship code for sm_90 instead of PTX alone (nvcc -gencode arch=compute_90,code=sm_90), or keep the driver''s cache from run to run (CUDA_CACHE_PATH, CUDA_CACHE_MAXSIZE). cuModuleLoadData at stage.h:74 compiled the ptx of 683 bytes.');
INSERT INTO "stall_advice" VALUES(3,'Ship code for sm_90 instead of PTX alone (nvcc -gencode arch=compute_90,code=sm_90), or keep the driver''s cache from run to run (CUDA_CACHE_PATH, CUDA_CACHE_MAXSIZE). cuLibraryLoadData at lazy_launch.c:12 compiled the library of 381 bytes.');
INSERT INTO "stall_advice" VALUES(4,'Load second_empty, whose first use is cuLaunchKernel at lazy_launch.c:15, before the GPU is given work: cudaFuncGetAttributes, or cuKernelGetFunction, or one launch on little data at the program''s start. Here it waited for spin. To paste: cuLibraryGetKernel(&kernel, library, "second_empty"); cuKernelGetFunction(&function, kernel); Or start with CUDA_MODULE_LOADING=EAGER (about 256 us more at start, from the one lazy load seen).');
CREATE TABLE stream (id INTEGER PRIMARY KEY, process INTEGER NOT NULL, context INTEGER,
    thread INTEGER, handle INTEGER NOT NULL, kind TEXT NOT NULL);
INSERT INTO "stream" VALUES(1,1,1,NULL,94469261473312,'created');
INSERT INTO "stream" VALUES(2,1,1,NULL,94469261481632,'created');
CREATE TABLE thread (id INTEGER PRIMARY KEY, process INTEGER NOT NULL, serial INTEGER NOT NULL,
    tid INTEGER, name TEXT, records INTEGER NOT NULL);
INSERT INTO "thread" VALUES(1,1,1,24718,'lazy_launch',56);
INSERT INTO "thread" VALUES(2,1,4611686018427387904,24725,'gpuverify-gpu',20);
CREATE TABLE thread_total (thread INTEGER PRIMARY KEY, count INTEGER NOT NULL,
    total_ns INTEGER NOT NULL, first_ns INTEGER NOT NULL, last_ns INTEGER NOT NULL);
INSERT INTO "thread_total" VALUES(1,22,312441601,3604399,328609973);
CREATE TABLE timeline (lane TEXT NOT NULL, stretch INTEGER NOT NULL, taken_ns INTEGER NOT NULL,
    PRIMARY KEY (lane, stretch)) WITHOUT ROWID;
INSERT INTO "timeline" VALUES('busy 1',42,2000);
INSERT INTO "timeline" VALUES('busy 1',52,314244);
INSERT INTO "timeline" VALUES('busy 1',53,524288);
INSERT INTO "timeline" VALUES('busy 1',54,524288);
INSERT INTO "timeline" VALUES('busy 1',55,524288);
INSERT INTO "timeline" VALUES('busy 1',56,524288);
INSERT INTO "timeline" VALUES('busy 1',57,524288);
INSERT INTO "timeline" VALUES('busy 1',58,524288);
INSERT INTO "timeline" VALUES('busy 1',59,524288);
INSERT INTO "timeline" VALUES('busy 1',60,524288);
INSERT INTO "timeline" VALUES('busy 1',61,524288);
INSERT INTO "timeline" VALUES('busy 1',62,524288);
INSERT INTO "timeline" VALUES('busy 1',63,524288);
INSERT INTO "timeline" VALUES('busy 1',64,524288);
INSERT INTO "timeline" VALUES('busy 1',65,524288);
INSERT INTO "timeline" VALUES('busy 1',66,524288);
INSERT INTO "timeline" VALUES('busy 1',67,524288);
INSERT INTO "timeline" VALUES('busy 1',68,524288);
INSERT INTO "timeline" VALUES('busy 1',69,524288);
INSERT INTO "timeline" VALUES('busy 1',70,524288);
CREATE VIEW calls AS -- one outermost CUDA call each
SELECT
    c.id AS id, -- counts up in the order of storage; within a thread that is the order of the calls
    t.process AS process, -- id in processes
    c.thread AS thread, -- id in threads
    a.name AS name, -- the exported symbol, such as cuLaunchKernel_ptsz
    a.class AS class, -- init, context, load, unload, function, launch, copy, set, sync, alloc, free, stream, event, graph
    c.start_ns AS start_ns, -- since the session's start
    c.duration_ns AS duration_ns, -- until it returned
    c.result AS result, -- as returned; NULL if a C++ exception left the call
    coalesce(c.context, s.context) AS context, -- id in contexts, where it worked
    c.stream AS stream, -- id in streams
    c.bytes AS bytes, -- moved, or asked for
    k.name AS kernel, -- name of the kernel that was launched, or whose function was asked for
    coalesce(k.module, m.module) AS module, -- that the call loaded or unloaded, or that its kernel lives in; id in modules
    c.correlation AS correlation, -- CUPTI's number of the call, if it could start something on the GPU
    cs.stack AS stack, -- where in the program; see frames. Only of calls that took long
    c.object AS object, -- pointer or handle that it made or took
    c.kernel AS kernel_id -- id in kernels
FROM call c
    LEFT JOIN thread t ON t.id = c.thread
    LEFT JOIN api a ON a.id = c.api
    LEFT JOIN stream s ON s.id = c.stream
    LEFT JOIN kernel k ON k.id = c.kernel
    LEFT JOIN call_module m ON m.call = c.id
    LEFT JOIN call_stack cs ON cs.call = c.id;
CREATE VIEW gpu_ops AS -- one kernel, copy, memory set or graph that ran on a GPU
SELECT
    o.id AS id, -- counts up
    CASE o.kind WHEN 1 THEN 'kernel' WHEN 2 THEN 'copy' WHEN 3 THEN 'set' WHEN 4 THEN 'graph' END AS kind, -- kernel, copy, set, or graph: a whole launched one, unless GPUVERIFY_GRAPHS=nodes
    CASE o.kind WHEN 1 THEN n.name WHEN 2 THEN coalesce(y.name, 'copy') WHEN 3 THEN 'memset' WHEN 4 THEN 'graph' END AS name, -- the kernel's name as written in C++, or the copy's direction
    p.process AS process, -- id in processes
    p.device AS device, -- number that the process knows the device by
    coalesce(c.context, st.context) AS context, -- the call's, id in contexts
    CASE WHEN o.graph_node IS NULL THEN c.stream END AS stream, -- the call's, id in streams
    o.start_ns AS start_ns, -- on the GPU, on the clock of the calls
    o.duration_ns AS duration_ns, -- on the GPU
    o.bytes AS bytes, -- of a copy or set
    o.call AS call, -- that started it, id in calls
    s.grid_x AS grid_x, -- blocks
    s.grid_y AS grid_y, -- blocks
    s.grid_z AS grid_z, -- blocks
    s.block_x AS block_x, -- threads
    s.block_y AS block_y, -- threads
    s.block_z AS block_z, -- threads
    s.registers AS registers, -- of one thread
    s.static_shared_bytes + s.dynamic_shared_bytes AS shared_bytes, -- of one block
    s.local_bytes AS local_bytes, -- of one thread
    s.static_shared_bytes AS static_shared_bytes, -- of one block, declared in the kernel
    s.dynamic_shared_bytes AS dynamic_shared_bytes, -- of one block, asked for by the launch
    n.linkage AS linkage_name, -- the kernel's name as it is linked
    o.graph_node AS graph_node, -- of an operation recorded as a node of a graph
    p.context AS cupti_context, -- CUPTI's number of the context
    p.stream AS cupti_stream, -- CUPTI's number of the stream: tells streams apart where stream is NULL
    CASE o.copy_kind >> 4 WHEN 1 THEN 'pageable' WHEN 2 THEN 'pinned' WHEN 5 THEN 'managed' WHEN 7 THEN 'managed' END AS host_memory -- of a copy from or to the host: pageable, pinned or managed
FROM gpu_op o
    LEFT JOIN gpu_place p ON p.id = o.place
    LEFT JOIN gpu_shape s ON s.id = o.shape
    LEFT JOIN gpu_name n ON n.id = s.name
    LEFT JOIN copy_kind y ON y.id = o.copy_kind & 15
    LEFT JOIN call c ON c.id = o.call
    LEFT JOIN stream st ON st.id = c.stream;
CREATE VIEW loads AS -- one load of code each, also those inside another call
SELECT
    l.id AS id, -- negative for a lazy load
    l.call AS call, -- outermost call that it happened in, id in calls; NULL if that never returned
    l.kind AS kind, -- cubin, ptx, fatbin, image, file, library, link (input of a linker), lazy (came with a call that loads none by itself)
    l.name AS name, -- the file, the link input's name, or the lazily loaded kernel
    l.bytes AS bytes, -- of the image
    CASE WHEN l.hash IS NOT NULL THEN printf('%016x', l.hash) END AS hash, -- of size and samples of the image
    l.start_ns AS start_ns, -- since the session's start
    l.duration_ns AS duration_ns, -- of the load; of the whole call for a lazy one
    CASE WHEN p.gpu = 'cupti' THEN coalesce((SELECT sum(j.duration_ns) FROM jit j
        WHERE j.process = p.id AND j.start_ns >= l.start_ns
            AND j.start_ns <= l.start_ns + l.duration_ns
            AND (j.call = l.call OR j.call IS NULL OR l.call IS NULL)),
        CASE WHEN l.kind = 'cubin' OR coalesce(p.ended, 'killed') <> 'killed' AND NOT EXISTS
            (SELECT 1 FROM loss WHERE process = p.id AND what LIKE 'GPU %' AND count > 0)
        THEN 0 END) END AS jit_ns, -- compiling, or finding compiled code in the cache; NULL if that was not seen: without the GPU's side, or where a part of it is missing
    w.wait_ns AS wait_ns, -- waiting for the GPU to finish what it had
    w.gpu_busy AS gpu_busy, -- 1: the GPU was at work when the load began
    l.result AS result, -- 0, or the driver's error
    l.image AS image, -- what the image is: cubin, ptx, fatbin
    l.module AS module, -- that came of it, id in modules; NULL if it failed
    t.process AS process, -- id in processes
    l.thread AS thread, -- id in threads
    a.name AS function, -- the call that loads
    l.handle AS handle, -- of the module or library
    NULL AS kernel, -- whose first use loaded it lazily
    l.library AS library -- the program or shared library that the image is part of
FROM load l
    LEFT JOIN thread t ON t.id = l.thread
    LEFT JOIN api a ON a.id = l.api
    LEFT JOIN process p ON p.id = t.process
    LEFT JOIN load_wait w ON w.load = l.id
UNION ALL SELECT -m.id, m.call, 'lazy', k.name, m.bytes,
    CASE WHEN m.hash IS NOT NULL THEN printf('%016x', m.hash) END, c.start_ns, c.duration_ns,
    coalesce((SELECT sum(j.duration_ns) FROM jit j WHERE j.call = m.call), CASE WHEN
        coalesce(p.ended, 'killed') <> 'killed' AND NOT EXISTS (SELECT 1 FROM loss WHERE
        process = p.id AND what LIKE 'GPU %' AND count > 0) THEN 0 END), w.wait_ns,
    w.gpu_busy, c.result, NULL, k.module, m.process, c.thread, a.name, NULL, k.name,
    (SELECT library FROM load WHERE module = k.module AND library IS NOT NULL)
FROM gpu_module m
    JOIN call c ON c.id = m.call
    LEFT JOIN api a ON a.id = c.api
    LEFT JOIN kernel k ON k.id = c.kernel
    LEFT JOIN process p ON p.id = m.process
    LEFT JOIN load_wait w ON w.load = -m.id
WHERE m.call NOT IN (SELECT call FROM load WHERE call IS NOT NULL);
CREATE VIEW stalls AS -- one call that was held up, and why
SELECT
    x.id AS id, -- counts up, in the order of the calls' start
    x.call AS call, -- id in calls
    x.cause AS cause, -- see docs/stalls.md
    x.expected AS expected, -- 1: the program asked to wait (explicit-sync)
    c.start_ns AS start_ns, -- of the call
    c.duration_ns AS duration_ns, -- of the call: wait_ns + work_ns + jit_ns
    x.wait_ns AS wait_ns, -- waiting: for the GPU, for another thread's call, or for what is not known
    x.work_ns AS work_ns, -- the call's own work
    x.jit_ns AS jit_ns, -- compiling
    x.waited_for AS waited_for, -- the last operation that had to finish, id in gpu_ops
    x.blocked_by AS blocked_by, -- the call that stood in the way, id in calls
    x.confidence AS confidence, -- measured: the GPU's side was seen; inferred: from the calls alone
    v.text AS advice, -- what to do
    x.drained_count AS drained_count, -- operations that had to finish
    x.drained_ns AS drained_ns, -- from the first one's start to the last one's end
    t.process AS process, -- id in processes
    c.thread AS thread, -- id in threads
    a.name AS name, -- the call's name
    k.name AS kernel, -- that the call launches
    cs.stack AS stack, -- where in the program; see frames
    x.presumed AS presumed -- inferred: the last call whose work was not known to be finished, id in calls
FROM stall x
    LEFT JOIN stall_advice v ON v.id = x.advice
    LEFT JOIN call c ON c.id = x.call
    LEFT JOIN thread t ON t.id = c.thread
    LEFT JOIN api a ON a.id = c.api
    LEFT JOIN kernel k ON k.id = c.kernel
    LEFT JOIN call_stack cs ON cs.call = c.id;
CREATE VIEW frames AS -- one frame of a stack each
SELECT
    f.stack AS stack, -- as in calls
    f.depth AS depth, -- 0 is the innermost; it may skip numbers
    f.kind AS kind, -- native or python
    f.function AS function, -- as written in C++ or Python
    f.library AS library, -- file that holds the code
    f.file AS file, -- source file
    f.line AS line, -- line in it
    f.address AS address -- program counter, in the library
FROM frame f;
CREATE VIEW in_flight AS -- one call that had not returned when its process ended, or when the watchdog looked
SELECT
    f.process AS process, -- id in processes
    t.id AS thread, -- id in threads
    f.tid AS tid, -- the system's number of the thread
    f.name AS thread_name, -- the thread's name
    a.name AS name, -- the call's name
    a.class AS class, -- the call's class
    f.start_ns AS start_ns, -- since the session's start
    k.name AS kernel, -- that the call launches
    f.stream_handle AS stream_handle, -- that it works on
    f.seen_ns - f.start_ns AS elapsed_ns, -- how long it had been in the call when last seen
    f.cause AS cause, -- as in stalls, as far as it could be known
    f.waited_for AS waited_for, -- id in gpu_ops, or NULL: an operation that has not ended is not there
    f.blocked_by_thread AS blocked_by_thread, -- thread whose call stood in the way, id in threads
    f.confidence AS confidence, -- as in stalls
    f.advice AS advice, -- what to do, if that is known
    f.state AS state -- what it waits for
FROM flight f
    LEFT JOIN api a ON a.id = f.api
    LEFT JOIN kernel k ON k.id = f.kernel
    LEFT JOIN thread t ON t.process = f.process AND t.serial = f.thread_serial;
CREATE VIEW kernels AS -- one kernel that the program got a handle of
SELECT
    k.id AS id, -- counts up; a handle that is used again after an unload is another kernel
    k.process AS process, -- id in processes
    k.name AS name, -- NULL if nothing named it
    k.module AS module, -- id in modules
    k.handle AS handle, -- as the program saw it
    k.named_ns AS named_ns, -- when it got its name
    k.number AS number -- counts up in each process
FROM kernel k;
CREATE VIEW modules AS -- one module or library of code
SELECT
    m.id AS id, -- counts up
    m.process AS process, -- id in processes
    m.number AS number, -- counts up in each process
    m.unloaded_ns AS unloaded_ns -- NULL: never unloaded
FROM module m;
CREATE VIEW streams AS -- one stream
SELECT
    s.id AS id, -- counts up
    s.process AS process, -- id in processes
    s.context AS context, -- id in contexts
    s.thread AS thread, -- whose per-thread default stream it is, id in threads
    s.handle AS handle, -- as the program saw it
    s.kind AS kind -- legacy default, per-thread default, created
FROM stream s;
CREATE VIEW contexts AS -- one context
SELECT
    id, -- counts up
    process, -- id in processes
    handle -- as the program saw it
FROM context;
CREATE VIEW processes AS -- one process that used CUDA
SELECT
    p.id AS id, -- counts up
    p.pid AS pid, -- the system's number
    p.parent_pid AS parent_pid, -- of its parent
    p.program AS program, -- what to call it: train for python train.py
    p.executable AS executable, -- its file
    p.arguments AS arguments, -- quoted for a shell
    p.directory AS directory, -- that it worked in
    p.forked AS forked, -- 1: a fork without exec
    p.start_ns AS start_ns, -- of recording
    p.end_ns AS end_ns, -- when it ended
    p.ended AS ended, -- exit; exec: it became another program; killed: by a signal or a crash, without a word; NULL while it runs
    p.exit_code AS exit_code, -- as given to exit()
    p.driver_version AS driver_version, -- 13000 is CUDA 13.0
    p.gpu AS gpu, -- cupti: the GPU's side was seen; host-only: it was not; off: it was not wanted
    p.gpu_why AS gpu_why, -- what stood in the way, and what to do
    p.cupti_version AS cupti_version, -- as CUPTI gives it
    p.cupti_library AS cupti_library, -- the file in use
    p.exit_signal AS exit_signal -- that killed it, if the process sent it to itself or gpuverify run saw its end; else NULL
FROM process p;
CREATE VIEW threads AS -- one thread that called CUDA
SELECT
    id, -- counts up
    process, -- id in processes
    serial, -- counts up in each process
    tid, -- the system's number
    name, -- the thread's name
    records -- that are in the trace
FROM thread WHERE serial < 1 << 62;
CREATE VIEW devices AS -- one device of one process
SELECT
    d.id AS id, -- counts up
    d.process AS process, -- id in processes
    d.device AS device, -- number that the process knows it by
    d.name AS name, -- as the driver says
    d.uuid AS uuid, -- the same in all processes
    CASE WHEN d.cc_major IS NOT NULL THEN d.cc_major || '.' || d.cc_minor END AS compute_capability, -- such as 9.0
    d.multiprocessors AS multiprocessors, -- count
    d.memory_bytes AS memory_bytes, -- in all
    d.clock_khz AS clock_khz, -- highest, of the multiprocessors
    d.memory_clock_khz AS memory_clock_khz, -- highest, of the memory
    p.driver_version AS driver_version -- 13000 is CUDA 13.0
FROM device d LEFT JOIN process p ON p.id = d.process;
CREATE VIEW samples AS -- one look at a device by NVIDIA's management library, every 100 ms
SELECT
    s.id AS id, -- counts up
    s.uuid AS uuid, -- of the device
    s.at_ns AS at_ns, -- since the session's start
    s.gpu_percent AS gpu_percent, -- of the time in which a kernel ran
    s.memory_percent AS memory_percent, -- of the time in which memory was read or written
    s.memory_used_bytes AS memory_used_bytes, -- by all processes
    s.power_mw AS power_mw, -- milliwatts
    s.sm_clock_mhz AS sm_clock_mhz, -- of the multiprocessors
    s.memory_clock_mhz AS memory_clock_mhz, -- of the memory
    s.temperature_c AS temperature_c -- degrees Celsius
FROM sample s;
CREATE VIEW jits AS -- one time that the driver compiled, or looked for compiled code
SELECT
    j.id AS id, -- counts up
    j.process AS process, -- id in processes
    j.call AS call, -- id in calls
    CASE j.operation WHEN 1 THEN 'cache load' WHEN 2 THEN 'cache store' WHEN 3 THEN 'compile' END AS operation, -- compile, cache load, cache store
    CASE j.entry WHEN 1 THEN 'ptx to cubin' WHEN 2 THEN 'nvvm to ptx' END AS entry, -- ptx to cubin, nvvm to ptx
    j.start_ns AS start_ns, -- since the session's start
    j.duration_ns AS duration_ns, -- of it
    j.cache_bytes AS cache_bytes, -- size in the cache
    j.device AS device -- number that the process knows the device by
FROM jit j;
CREATE VIEW overheads AS -- one time that CUPTI reports as overhead, less its own upkeep
SELECT
    o.id AS id, -- counts up
    o.process AS process, -- id in processes
    t.id AS thread, -- id in threads; NULL where CUPTI numbers threads in a way of its own
    CASE o.kind WHEN 1 THEN 'driver compiler' WHEN 1 << 16 THEN 'buffer flush'
        WHEN 2 << 16 THEN 'instrumentation' WHEN 3 << 16 THEN 'resource'
        WHEN 4 << 16 THEN 'module loading' WHEN 5 << 16 THEN 'lazy function loading'
        WHEN 6 << 16 THEN 'command buffer full' WHEN 7 << 16 THEN 'buffer request'
        ELSE 'kind ' || o.kind END AS kind, -- what CUPTI calls it; the wait for a busy GPU is in none
    o.start_ns AS start_ns, -- since the session's start
    o.duration_ns AS duration_ns -- of it
FROM overhead o
    LEFT JOIN thread t ON t.process = o.process AND t.tid = o.tid AND t.serial < 1 << 62;
CREATE VIEW losses AS -- one kind of thing that did not fit; no row: nothing was lost
SELECT
    process, -- id in processes
    what, -- call, name, load, thread, Python stack, GPU record, GPU operation, record
    nullif(class, '') AS class, -- the calls'; of GPU records why; last flush: operations that CUPTI still held
    count -- how many
FROM loss;
CREATE VIEW api_summary AS -- one name of a call
WITH counted AS (
    SELECT api, duration_ns, count(*) AS count,
        count(nullif(nullif(result, 0), 600)) AS errors
    FROM call GROUP BY api, duration_ns),
ranked AS (
    SELECT api, duration_ns, count,
        sum(count) OVER (PARTITION BY api ORDER BY duration_ns) AS rank
    FROM counted),
total AS (
    SELECT api, sum(count) AS count, sum(count * duration_ns) AS total_ns,
        min(duration_ns) AS min_ns, max(duration_ns) AS max_ns, sum(errors) AS errors
    FROM counted GROUP BY api)
SELECT
    a.name AS name, -- as in calls
    a.class AS class, -- as in calls
    n.count AS count, -- calls
    n.total_ns AS total_ns, -- time in them
    n.min_ns AS min_ns, -- shortest
    r.duration_ns AS median_ns, -- the lower one of an even count
    n.max_ns AS max_ns, -- longest
    n.total_ns * 1.0 / nullif((SELECT sum(total_ns) FROM total), 0) AS share, -- of the time in all calls, 0 to 1
    n.errors AS errors -- results other than 0 and 600 (not ready)
FROM ranked r
    JOIN total n ON n.api = r.api
    JOIN api a ON a.id = n.api
WHERE r.rank >= (n.count + 1) / 2 AND r.rank - r.count < (n.count + 1) / 2;
CREATE VIEW kernel_summary AS -- one name of a kernel
WITH counted AS (
    SELECT coalesce(n.name, '?') AS key, o.duration_ns AS duration_ns, count(*) AS count
    FROM gpu_op o
        LEFT JOIN gpu_shape s ON s.id = o.shape
        LEFT JOIN gpu_name n ON n.id = s.name
    WHERE o.kind = 1 AND o.duration_ns IS NOT NULL GROUP BY 1, 2),
ranked AS (
    SELECT key, duration_ns, count,
        sum(count) OVER (PARTITION BY key ORDER BY duration_ns) AS rank
    FROM counted),
total AS (
    SELECT key, sum(count) AS count, sum(count * duration_ns) AS total_ns,
        min(duration_ns) AS min_ns, max(duration_ns) AS max_ns
    FROM counted GROUP BY key)
SELECT
    n.key AS name, -- as in gpu_ops
    n.count AS count, -- times that it ran
    n.total_ns AS total_ns, -- on the GPU
    n.min_ns AS min_ns, -- shortest
    r.duration_ns AS median_ns, -- the lower one of an even count
    n.max_ns AS max_ns, -- longest
    n.total_ns * 1.0 / nullif((SELECT sum(total_ns) FROM total), 0) AS share -- of the time of all kernels, 0 to 1
FROM ranked r JOIN total n ON n.key = r.key
WHERE r.rank >= (n.count + 1) / 2 AND r.rank - r.count < (n.count + 1) / 2;
CREATE VIEW copy_summary AS -- one direction of copies, or memory sets
WITH counted AS (
    SELECT CASE o.kind WHEN 3 THEN -1 ELSE coalesce(o.copy_kind & 15, 0) END AS key,
        o.duration_ns AS duration_ns, count(*) AS count, sum(o.bytes) AS bytes
    FROM gpu_op o WHERE o.kind IN (2, 3) AND o.duration_ns IS NOT NULL GROUP BY 1, 2),
ranked AS (
    SELECT key, duration_ns, count,
        sum(count) OVER (PARTITION BY key ORDER BY duration_ns) AS rank
    FROM counted),
total AS (
    SELECT key, sum(count) AS count, sum(count * duration_ns) AS total_ns,
        min(duration_ns) AS min_ns, max(duration_ns) AS max_ns, sum(bytes) AS bytes
    FROM counted GROUP BY key)
SELECT
    CASE n.key WHEN -1 THEN 'memset' ELSE coalesce(y.name, 'copy') END AS name, -- as in gpu_ops
    n.count AS count, -- copies or sets
    n.total_ns AS total_ns, -- on the GPU
    n.min_ns AS min_ns, -- shortest
    r.duration_ns AS median_ns, -- the lower one of an even count
    n.max_ns AS max_ns, -- longest
    n.total_ns * 1.0 / nullif((SELECT sum(total_ns) FROM total), 0) AS share, -- of the time of all copies and sets, 0 to 1
    n.bytes AS bytes -- in all
FROM ranked r
    JOIN total n ON n.key = r.key
    LEFT JOIN copy_kind y ON y.id = n.key
WHERE r.rank >= (n.count + 1) / 2 AND r.rank - r.count < (n.count + 1) / 2;
COMMIT;
