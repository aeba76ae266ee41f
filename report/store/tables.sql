-- The tables of a trace. They may change with GV_SCHEMA_VERSION; the views (views.sql) may not.
--
-- A launch takes at most 36 bytes of "call", its operation 45 bytes of "gpu_op": names, places and
-- shapes are numbers, an unknown value is NULL and takes one byte, a context that follows from the
-- stream is not stored, and there is no index. Times are nanoseconds since the session's start.

CREATE TABLE meta (key TEXT PRIMARY KEY NOT NULL, value) WITHOUT ROWID;

-- What a call means is that of its kind (trace/call_kinds.def). gpu_work: what it puts on the GPU, 0:
-- nothing, 1: a kernel, 2: a graph, 3: a copy or a set. memory: 1, 2, 3, 4: allocates device, host,
-- managed, physical memory, 5: frees, 6: makes a context, 7: ends one, 8: resets a device, 9: maps
-- physical memory, 10: makes one more handle of it, 11: unmaps it, 12: releases a handle.
CREATE TABLE api (id INTEGER PRIMARY KEY, name TEXT NOT NULL, class TEXT NOT NULL, kind TEXT,
    gpu_work INTEGER, memory INTEGER, starts_cuda INTEGER, begins_capture INTEGER,
    ends_capture INTEGER, awaits_event INTEGER, every_context INTEGER);

CREATE TABLE process (id INTEGER PRIMARY KEY, identity INTEGER NOT NULL, pid INTEGER,
    parent_pid INTEGER, start_ticks INTEGER, program TEXT, executable TEXT, arguments TEXT,
    directory TEXT, forked INTEGER, driver_version INTEGER, start_ns INTEGER, end_ns INTEGER,
    ended TEXT, exit_code INTEGER, exit_signal INTEGER, gpu TEXT, gpu_why TEXT, cupti_version INTEGER,
    cupti_library TEXT, gpu_flushed_ns INTEGER);

-- What trace/launchers.def says of a process, and where it ran.
CREATE TABLE process_rank (process INTEGER PRIMARY KEY, rank INTEGER, local_rank INTEGER,
    world_size INTEGER, job TEXT, host TEXT, container TEXT);

-- Those of trace/environment.def that were set when the process made its first context.
CREATE TABLE variable (process INTEGER NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL,
    PRIMARY KEY (process, name)) WITHOUT ROWID;

-- records: how many of the thread's records are in the trace, counted in its spool
CREATE TABLE thread (id INTEGER PRIMARY KEY, process INTEGER NOT NULL, serial INTEGER NOT NULL,
    tid INTEGER, name TEXT, records INTEGER NOT NULL);

CREATE TABLE context (id INTEGER PRIMARY KEY, process INTEGER NOT NULL, handle INTEGER NOT NULL);
-- Where it is known: the process's number of the device.
CREATE TABLE context_device (context INTEGER PRIMARY KEY, device INTEGER NOT NULL);

CREATE TABLE stream (id INTEGER PRIMARY KEY, process INTEGER NOT NULL, context INTEGER,
    thread INTEGER, handle INTEGER NOT NULL, kind TEXT NOT NULL);

CREATE TABLE kernel (id INTEGER PRIMARY KEY, process INTEGER NOT NULL, number INTEGER NOT NULL,
    name TEXT, module INTEGER, handle INTEGER, named_ns INTEGER);

CREATE TABLE module (id INTEGER PRIMARY KEY, process INTEGER NOT NULL, number INTEGER NOT NULL,
    unloaded_ns INTEGER);

CREATE TABLE call (id INTEGER PRIMARY KEY, thread INTEGER NOT NULL, api INTEGER NOT NULL,
    start_ns INTEGER NOT NULL, duration_ns INTEGER NOT NULL, result INTEGER, stream INTEGER,
    context INTEGER, bytes INTEGER, object INTEGER, kernel INTEGER, correlation INTEGER);

-- Facts that few calls have are kept beside them.
CREATE TABLE call_module (call INTEGER PRIMARY KEY, module INTEGER NOT NULL);
-- A second object of the call: the handle that cuMemMap mapped, the address of which
-- cuMemRetainAllocationHandle asked, where cuMemCreate allocated (GV_MEMORY_LOCATION).
CREATE TABLE call_object (call INTEGER PRIMARY KEY, object INTEGER NOT NULL);
CREATE TABLE call_stack (call INTEGER PRIMARY KEY, stack INTEGER NOT NULL);
-- Calls whose stack is that of an earlier call of the same site.
CREATE TABLE call_stack_of_other (call INTEGER PRIMARY KEY);
-- Calls that were chosen at random to have their own stack: each stands for about `one_of` calls of its
-- thread that put work on the GPU.
CREATE TABLE call_sample (call INTEGER PRIMARY KEY, one_of INTEGER NOT NULL);
-- A row that stands for several polls that returned "not ready". Its duration is their sum.
CREATE TABLE call_fold (call INTEGER PRIMARY KEY, count INTEGER NOT NULL,
    span_ns INTEGER NOT NULL);

-- How long, at least, the call's thread was ready to run but waited for a CPU.
CREATE TABLE call_delay (call INTEGER PRIMARY KEY, delay_ns INTEGER NOT NULL);

-- A function that the CPU ran, or was to run, in its turn in the stream of its call. number: in its
-- process. stack: number of a stack of one frame, the function. thread: the one that ran it.
CREATE TABLE host_function (id INTEGER PRIMARY KEY, process INTEGER NOT NULL,
    number INTEGER NOT NULL, call INTEGER, stack INTEGER, thread INTEGER, start_ns INTEGER,
    duration_ns INTEGER, UNIQUE (process, number));


-- The program's own words: NVTX, gpuverify.h. number: of a text in its process; NULL: it has none.
CREATE TABLE range_text (id INTEGER PRIMARY KEY, process INTEGER NOT NULL, number INTEGER, text TEXT,
    UNIQUE (process, number));
-- kind: enum gv_range_kind. domain, text, category_name: rows of range_text. number: what NVTX gave the
-- program for a range of kind start. duration_ns: NULL: it has no end. parent: of a push: the innermost
-- range of its thread that it is in, of any domain; depth: how many they are.
CREATE TABLE range (id INTEGER PRIMARY KEY, thread INTEGER NOT NULL, kind INTEGER NOT NULL,
    domain INTEGER, text INTEGER, category INTEGER, category_name INTEGER, color INTEGER,
    payload, start_ns INTEGER NOT NULL, duration_ns INTEGER, number INTEGER, depth INTEGER,
    parent INTEGER);
-- From this call on, the calls of the thread are in this range of kind push, the innermost; NULL: in none.
CREATE TABLE call_range (thread INTEGER NOT NULL, call INTEGER NOT NULL, range INTEGER,
    PRIMARY KEY (thread, call)) WITHOUT ROWID;

CREATE TABLE load (id INTEGER PRIMARY KEY, thread INTEGER NOT NULL, api INTEGER NOT NULL,
    call INTEGER, start_ns INTEGER NOT NULL, duration_ns INTEGER NOT NULL, result INTEGER,
    kind TEXT NOT NULL, image TEXT, name TEXT, bytes INTEGER, hash INTEGER, handle INTEGER,
    module INTEGER, library TEXT);

CREATE TABLE loss (process INTEGER NOT NULL, what TEXT NOT NULL, class TEXT NOT NULL,
    count INTEGER NOT NULL, PRIMARY KEY (process, what, class)) WITHOUT ROWID;

-- What gpuverify itself cost: trace/own_cost.def. A process has all rows, or none in earlier traces.
CREATE TABLE cost (process INTEGER NOT NULL, what TEXT NOT NULL, count INTEGER NOT NULL,
    total_ns INTEGER NOT NULL, spared INTEGER NOT NULL, PRIMARY KEY (process, what)) WITHOUT ROWID;

-- Calls that had not returned when the watchdog looked, or when their process ended.
CREATE TABLE flight (process INTEGER NOT NULL, thread_serial INTEGER, tid INTEGER, name TEXT,
    api INTEGER NOT NULL, start_ns INTEGER NOT NULL, kernel INTEGER, stream_handle INTEGER,
    seen_ns INTEGER, cause TEXT, waited_for INTEGER, blocked_by_thread INTEGER, confidence TEXT,
    state TEXT, advice TEXT);

-- One call that takes part in a collective operation of NCCL, or sends or receives. call: the NCCL call. kind:
-- all-reduce, all-gather, reduce-scatter, broadcast, reduce, send, receive, all-to-all, ... communicator: the same on
-- all ranks, a hash of its unique id. sequence: the n-th collective of this communicator on this rank, from 0; NULL: a
-- send or receive that was not counted. rank: within the communicator; size: of it. operation: a row of gpu_op; NULL:
-- not known.
CREATE TABLE collective (id INTEGER PRIMARY KEY, call INTEGER NOT NULL, kind TEXT NOT NULL,
    communicator INTEGER NOT NULL, sequence INTEGER, rank INTEGER, size INTEGER, count INTEGER,
    type TEXT, bytes INTEGER, root_or_peer INTEGER, operation INTEGER);
-- What the analysis found (report/analyse/jobs): one collective of all ranks, and what each of them did in it. replay:
-- the n-th launch of the graph that the collective was captured into; 0: it was not captured. late: the row of
-- collective of the rank that came last. reason, detail, stack: as in idle_time, or the cause of the stall. stall, idle:
-- which was it; both NULL: neither. wait_ns: how long each of the others waited, on average.
CREATE TABLE collective_group (id INTEGER PRIMARY KEY, communicator INTEGER NOT NULL, sequence INTEGER NOT NULL,
    replay INTEGER NOT NULL, kind TEXT NOT NULL, bytes INTEGER, ranks INTEGER NOT NULL, first_ns INTEGER NOT NULL,
    last_ns INTEGER NOT NULL, end_ns INTEGER, late INTEGER NOT NULL, wait_ns INTEGER NOT NULL, reason TEXT,
    detail TEXT, stall INTEGER, idle INTEGER, stack INTEGER);
CREATE TABLE collective_member (id INTEGER PRIMARY KEY, collective INTEGER NOT NULL, process INTEGER NOT NULL,
    together INTEGER NOT NULL, arrival_ns INTEGER NOT NULL, end_ns INTEGER, wait_ns INTEGER NOT NULL);
-- Of a trace that `gpuverify merge` made: the clocks of what it was made of. Times are on the clock of row 1: of what
-- another clock showed at t, offset_ns + t * drift_ppb / 1e9 has been added. error_ns: at most so wrong; NULL: unknown.
-- method: reference, collectives, same machine, or wall clock. matched: collectives that were used.
CREATE TABLE clock (id INTEGER PRIMARY KEY, trace TEXT NOT NULL, host TEXT, method TEXT NOT NULL,
    offset_ns INTEGER NOT NULL, drift_ppb INTEGER NOT NULL, error_ns INTEGER, matched INTEGER NOT NULL);
CREATE TABLE process_clock (process INTEGER PRIMARY KEY, clock INTEGER NOT NULL);

-- A stack is stored once in each process; its frames are named when the trace is finished.
CREATE TABLE stack (id INTEGER PRIMARY KEY, process INTEGER NOT NULL, number INTEGER NOT NULL,
    UNIQUE (process, number));
-- A stack whose native frames do not reach the thread's start. how: truncated, the copy ended; stopped, there are no unwind tables,
-- or a check failed, or a coroutine begins there.
CREATE TABLE stack_end (stack INTEGER PRIMARY KEY, how TEXT NOT NULL);
CREATE TABLE frame (stack INTEGER NOT NULL, depth INTEGER NOT NULL, kind TEXT NOT NULL,
    function TEXT, library TEXT, file TEXT, line INTEGER, address INTEGER, object INTEGER,
    PRIMARY KEY (stack, depth)) WITHOUT ROWID;
-- Code objects of Python in a process that is not finished: their lines are found by its frames. line_table:
-- in the format of CPython 3.minor; NULL: only the first line is known.
CREATE TABLE python_code (id INTEGER PRIMARY KEY, process INTEGER NOT NULL, number INTEGER NOT NULL,
    file TEXT, function TEXT, first_line INTEGER NOT NULL, line_table BLOB, minor INTEGER NOT NULL,
    is_interpreters INTEGER NOT NULL, UNIQUE (process, number));
-- The line of the program that a stack stands for, and the stacks of which that is known. A program's
-- own line, if there is one; or else a library's.
CREATE TABLE place (id INTEGER PRIMARY KEY, file TEXT, line INTEGER, function TEXT, library TEXT,
    UNIQUE (file, line, function, library));
CREATE TABLE stack_place (stack INTEGER PRIMARY KEY, place INTEGER NOT NULL);
-- A file that was mapped at [low, high); addresses in frames are relative to its base.
CREATE TABLE object (id INTEGER PRIMARY KEY, process INTEGER NOT NULL, base INTEGER NOT NULL,
    low INTEGER NOT NULL, high INTEGER NOT NULL, path TEXT, build_id TEXT);

-- What the analysis found (report/analyse/stalls), written when the trace is finished.
CREATE TABLE stall (id INTEGER PRIMARY KEY, call INTEGER NOT NULL, cause TEXT NOT NULL,
    expected INTEGER NOT NULL, jit_ns INTEGER NOT NULL, wait_ns INTEGER NOT NULL,
    work_ns INTEGER NOT NULL, waited_for INTEGER, blocked_by INTEGER, drained_count INTEGER,
    drained_ns INTEGER, confidence TEXT NOT NULL, advice INTEGER, presumed INTEGER);
CREATE TABLE stall_host (stall INTEGER PRIMARY KEY, host_function INTEGER NOT NULL);
CREATE TABLE stall_advice (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
-- The other process of a stall "other-process": a row of process, or of other_process. did: call,
-- start, end or use.
CREATE TABLE stall_other (stall INTEGER PRIMARY KEY, process INTEGER, other INTEGER,
    did TEXT NOT NULL);
-- load: as in the view "loads", so negative for a lazy one
CREATE TABLE load_wait (load INTEGER PRIMARY KEY, wait_ns INTEGER, gpu_busy INTEGER);

-- Captures of graphs that failed: the calls that began, lost and ended each (report/analyse/stalls).
CREATE TABLE lost_capture (begin_call INTEGER PRIMARY KEY, call INTEGER, end_call INTEGER);

-- Sums over all calls and operations (report/analyse/totals), stored so that a report does not read
-- the rows again. Stored medians are exact (in schema 5: right to a thousandth). rank: of the name,
-- among all kernels' names.
CREATE TABLE fact (key TEXT PRIMARY KEY NOT NULL, value INTEGER) WITHOUT ROWID;
CREATE TABLE api_total (api INTEGER PRIMARY KEY, count INTEGER NOT NULL,
    errors INTEGER NOT NULL, total_ns INTEGER NOT NULL, min_ns INTEGER NOT NULL,
    median_ns INTEGER NOT NULL, max_ns INTEGER NOT NULL, bytes INTEGER NOT NULL);
CREATE TABLE thread_total (thread INTEGER PRIMARY KEY, count INTEGER NOT NULL,
    total_ns INTEGER NOT NULL, first_ns INTEGER NOT NULL, last_ns INTEGER NOT NULL);
CREATE TABLE kernel_total (rank INTEGER PRIMARY KEY, name TEXT, count INTEGER NOT NULL,
    total_ns INTEGER NOT NULL, min_ns INTEGER NOT NULL, median_ns INTEGER NOT NULL,
    max_ns INTEGER NOT NULL, shape INTEGER, shapes INTEGER NOT NULL, device INTEGER);
CREATE TABLE copy_total (copy_kind INTEGER PRIMARY KEY, count INTEGER NOT NULL,
    total_ns INTEGER NOT NULL, min_ns INTEGER NOT NULL, median_ns INTEGER NOT NULL,
    max_ns INTEGER NOT NULL, bytes INTEGER NOT NULL);
-- If the GPU side was seen in windows (report/analyse/scaled), the counts and sums of kernel_total and
-- copy_total are of all calls, estimated from those that were seen. kind: as in gpu_op. number: rank of
-- kernel_total, copy_kind of copy_total (-1: sets), 0 (graphs); NULL: no such operation was seen, and
-- launches are calls of this kernel or api, of which the time is not known. seen: operations.
-- error_ns: standard error of the sum.
CREATE TABLE scaled_total (id INTEGER PRIMARY KEY, kind INTEGER NOT NULL, number INTEGER,
    kernel INTEGER, api INTEGER, launches INTEGER NOT NULL, seen INTEGER NOT NULL, error_ns INTEGER);
-- Of all copies of a direction, whatever the host's memory; -1: of memory sets
CREATE TABLE copy_median (direction INTEGER PRIMARY KEY, median_ns INTEGER NOT NULL);
-- One device, which several processes may have used; "device" is a row of the table device
CREATE TABLE device_total (number INTEGER PRIMARY KEY, device INTEGER, operations INTEGER NOT NULL,
    first_ns INTEGER NOT NULL, last_ns INTEGER NOT NULL, busy_ns INTEGER NOT NULL,
    kernel_ns INTEGER NOT NULL, copy_ns INTEGER NOT NULL, gaps INTEGER NOT NULL,
    short_gaps INTEGER NOT NULL, short_gap_ns INTEGER NOT NULL);
-- The longest times in which a device was idle, and the host's calls meanwhile
CREATE TABLE gap (id INTEGER PRIMARY KEY, device_total INTEGER NOT NULL,
    start_ns INTEGER NOT NULL, duration_ns INTEGER NOT NULL);
CREATE TABLE gap_call (gap INTEGER NOT NULL, api INTEGER NOT NULL, total_ns INTEGER NOT NULL,
    PRIMARY KEY (gap, api)) WITHOUT ROWID;
CREATE TABLE error_total (api INTEGER NOT NULL, result INTEGER NOT NULL, count INTEGER NOT NULL,
    PRIMARY KEY (api, result)) WITHOUT ROWID;
CREATE TABLE launch_total (kernel INTEGER PRIMARY KEY, count INTEGER NOT NULL,
    total_ns INTEGER NOT NULL);
-- Memory that was allocated and not freed. space: device, host or managed
CREATE TABLE memory_left (call INTEGER PRIMARY KEY, space TEXT NOT NULL, bytes INTEGER NOT NULL);
-- What lines of the program allocated. place: NULL: unknown. api: the allocating call. at_peak_bytes:
-- at the peaks of the devices; of host memory: at the peak of pinned memory. life_ns: median of what
-- was freed. time_ns: in the calls that allocated and freed.
CREATE TABLE memory_line (id INTEGER PRIMARY KEY, place INTEGER, api INTEGER, space TEXT NOT NULL,
    allocations INTEGER NOT NULL, allocated_bytes INTEGER NOT NULL, freed INTEGER NOT NULL,
    largest_bytes INTEGER NOT NULL, peak_bytes INTEGER NOT NULL, at_peak_bytes INTEGER NOT NULL,
    left_bytes INTEGER NOT NULL, life_ns INTEGER, time_ns INTEGER NOT NULL);
-- The most that was allocated on each device, and when. number: of the device, the same for all
-- processes; NULL: unknown. device: a row of device. outside_bytes: what else was used, without the
-- other processes. others: how many of them there were; other_bytes: their memory. NULL: unknown
CREATE TABLE memory_top (number INTEGER, device INTEGER, at_ns INTEGER NOT NULL,
    bytes INTEGER NOT NULL, outside_bytes INTEGER, others INTEGER NOT NULL, other_bytes INTEGER);
-- What held it. line: a row of memory_line. device: a number as in memory_top
CREATE TABLE memory_holder (line INTEGER NOT NULL, process INTEGER NOT NULL, device INTEGER,
    bytes INTEGER NOT NULL, blocks INTEGER NOT NULL);
-- For how long of each stretch of the run a lane was busy; fact "stretch_ns" is a stretch's length
CREATE TABLE timeline (lane TEXT NOT NULL, stretch INTEGER NOT NULL, taken_ns INTEGER NOT NULL,
    PRIMARY KEY (lane, stretch)) WITHOUT ROWID;

-- Which stacks asked for the GPU's time (report/analyse/lines), written when the trace is finished.
-- stack: NULL: not known. capture: the stack that captured the launched graph. kind, copy_kind: as in
-- gpu_op. name: a row of gpu_name, of a kernel. launches: calls, estimated from the samples.
-- queued_ns: from the calls' start to their work's. idle_ns: for how long the device had been idle
-- before that. NULL: the GPU side was not seen.
CREATE TABLE gpu_stack (id INTEGER PRIMARY KEY, process INTEGER NOT NULL, stack INTEGER,
    capture INTEGER, kind INTEGER NOT NULL, name INTEGER, copy_kind INTEGER, gpu_ns INTEGER,
    launches INTEGER NOT NULL, samples INTEGER NOT NULL, queued_ns INTEGER, idle_ns INTEGER);
-- The same by line. place, capture: rows of place. error_ns: standard error of gpu_ns; 0: exact
CREATE TABLE gpu_line (id INTEGER PRIMARY KEY, place INTEGER, capture INTEGER, gpu_ns INTEGER,
    error_ns INTEGER, launches INTEGER NOT NULL, samples INTEGER NOT NULL, queued_ns INTEGER,
    idle_ns INTEGER);

-- What ranges and marks of one name did (report/analyse/ranges), written when the trace is finished.
-- kind: as in range. text: where texts that differ only in numbers are one name, each number is "#" and
-- is_pattern is 1. unended: how many have no end; they are not in the times. The rest is of what the
-- calls in these ranges did; a call in two ranges of a name counts once. gpu_ns: of operations.
-- idle_ns: of the ranges' time, in which no device of the process had work. NULL: not known.
CREATE TABLE range_total (id INTEGER PRIMARY KEY, kind INTEGER NOT NULL, domain TEXT, text TEXT,
    is_pattern INTEGER NOT NULL, count INTEGER NOT NULL, unended INTEGER NOT NULL,
    total_ns INTEGER NOT NULL, min_ns INTEGER, median_ns INTEGER, max_ns INTEGER,
    calls INTEGER NOT NULL, launches INTEGER NOT NULL, gpu_ns INTEGER, stalls INTEGER NOT NULL,
    stall_ns INTEGER NOT NULL, max_stall_ns INTEGER NOT NULL, idle_ns INTEGER, loads INTEGER NOT NULL,
    load_ns INTEGER NOT NULL, allocations INTEGER NOT NULL, allocated_bytes INTEGER NOT NULL);
-- The range_total of the ranges of a kind with these rows of range_text; 0: no domain, no text.
CREATE TABLE range_total_of (kind INTEGER NOT NULL, domain INTEGER NOT NULL, text INTEGER NOT NULL,
    total INTEGER NOT NULL, PRIMARY KEY (kind, domain, text)) WITHOUT ROWID;

-- The program's steps (report/analyse/steps), written when the trace is finished. thread: that does them.
-- source: range, mark or launches. domain, message: of the range or mark, as in range_total.
CREATE TABLE step_series (id INTEGER PRIMARY KEY, process INTEGER NOT NULL, thread INTEGER NOT NULL,
    source TEXT NOT NULL, domain TEXT, message TEXT, kinds INTEGER NOT NULL);
-- number: in its series, from 1. kind: steps that launch alike have the same one, from 1 in the order of
-- the first. warmup: 1: it is one of the first, and slower than the others. Sums: as in range_total, of the
-- process's calls in this time; of a process with several series, of the thread's own.
CREATE TABLE step (series INTEGER NOT NULL, number INTEGER NOT NULL, kind INTEGER NOT NULL,
    warmup INTEGER NOT NULL, start_ns INTEGER NOT NULL, duration_ns INTEGER NOT NULL,
    calls INTEGER NOT NULL DEFAULT 0, launches INTEGER NOT NULL DEFAULT 0, gpu_ns INTEGER DEFAULT 0,
    stalls INTEGER NOT NULL DEFAULT 0, stall_ns INTEGER NOT NULL DEFAULT 0,
    max_stall_ns INTEGER NOT NULL DEFAULT 0, idle_ns INTEGER, loads INTEGER NOT NULL DEFAULT 0,
    load_ns INTEGER NOT NULL DEFAULT 0, allocations INTEGER NOT NULL DEFAULT 0,
    allocated_bytes INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (series, number)) WITHOUT ROWID;

-- GPU activity. "correlation" is stored only if the call was not found at once.
CREATE TABLE device (id INTEGER PRIMARY KEY, process INTEGER NOT NULL, device INTEGER NOT NULL,
    name TEXT, uuid TEXT, cc_major INTEGER, cc_minor INTEGER, multiprocessors INTEGER,
    memory_bytes INTEGER, clock_khz INTEGER, memory_clock_khz INTEGER);

CREATE TABLE gpu_name (id INTEGER PRIMARY KEY, process INTEGER NOT NULL, number INTEGER NOT NULL,
    name TEXT, linkage TEXT);

CREATE TABLE gpu_shape (id INTEGER PRIMARY KEY, process INTEGER NOT NULL, number INTEGER NOT NULL,
    name INTEGER, grid_x INTEGER, grid_y INTEGER, grid_z INTEGER, block_x INTEGER,
    block_y INTEGER, block_z INTEGER, registers INTEGER, static_shared_bytes INTEGER,
    dynamic_shared_bytes INTEGER, local_bytes INTEGER);

CREATE TABLE gpu_place (id INTEGER PRIMARY KEY, process INTEGER NOT NULL, device INTEGER NOT NULL,
    context INTEGER NOT NULL, stream INTEGER NOT NULL);

-- copy_kind: CUpti_ActivityMemcpyKind, and 16 times the CUpti_ActivityMemoryKind of the host's side
CREATE TABLE gpu_op (id INTEGER PRIMARY KEY, place INTEGER NOT NULL, kind INTEGER NOT NULL,
    shape INTEGER, start_ns INTEGER, duration_ns INTEGER, call INTEGER, bytes INTEGER,
    copy_kind INTEGER, graph_node INTEGER, correlation INTEGER);

CREATE TABLE jit (id INTEGER PRIMARY KEY, process INTEGER NOT NULL, start_ns INTEGER NOT NULL,
    duration_ns INTEGER NOT NULL, operation INTEGER, entry INTEGER, cache_bytes INTEGER,
    device INTEGER, call INTEGER, correlation INTEGER);

CREATE TABLE overhead (id INTEGER PRIMARY KEY, process INTEGER NOT NULL, kind INTEGER NOT NULL,
    start_ns INTEGER NOT NULL, duration_ns INTEGER NOT NULL, tid INTEGER);

CREATE TABLE gpu_module (id INTEGER PRIMARY KEY, process INTEGER NOT NULL,
    number INTEGER NOT NULL, at_ns INTEGER NOT NULL, bytes INTEGER, hash INTEGER, tid INTEGER,
    call INTEGER, correlation INTEGER);

-- When the GPU activity of a process was recorded; the view "recording" has that of the calls too.
CREATE TABLE gpu_interval (process INTEGER NOT NULL, number INTEGER NOT NULL,
    start_ns INTEGER NOT NULL, end_ns INTEGER, PRIMARY KEY (process, number)) WITHOUT ROWID;
-- When recording of a process was stopped (number is odd) or started. A process that began stopped
-- has its start in number 1. Time that is kept as sums counts as stopped: then number -1 has the
-- process's start, and 0 the end of that time, unless recording was stopped there.
CREATE TABLE recording_change (process INTEGER NOT NULL, number INTEGER NOT NULL,
    at_ns INTEGER NOT NULL, PRIMARY KEY (process, number)) WITHOUT ROWID;
-- What the recorder said of the GPU side, as in gpu_change: it may notice later that recording was
-- stopped.
CREATE TABLE gpu_note (process INTEGER NOT NULL, at_ns INTEGER NOT NULL, gpu TEXT NOT NULL,
    profiler TEXT, PRIMARY KEY (process, at_ns)) WITHOUT ROWID;
-- The windows of GPUVERIFY_GPU=windows whose time was chosen at random, one in each period: together a
-- fair sample of the run, as far as gpu_change says that the GPU side was seen in them. Windows
-- after stalls are not among them, because they are not chosen at random. end_ns: as planned.
CREATE TABLE gpu_window (process INTEGER NOT NULL, start_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL,
    PRIMARY KEY (process, start_ns)) WITHOUT ROWID;
-- From both: from when on another profiler in the process, a stop, or the end of a window left less of
-- the GPU side to see, or all of it again.
-- gpu: as in the view; before the first row: seen. profiler: NULL if it is seen, or not known.
CREATE TABLE gpu_change (process INTEGER NOT NULL, at_ns INTEGER NOT NULL, gpu TEXT NOT NULL,
    profiler TEXT, PRIMARY KEY (process, at_ns)) WITHOUT ROWID;

-- One look at a thread between its calls (struct gv_record_idle_sample has the fields). thread: a
-- row of thread; while the process runs it may be the negative tid of one that has no row yet.
-- about, target, signs: numbers as there. pid_or_tid: "other" there. span_ns: since the look before it,
-- as delay_ns and cpu_ns; NULL: it was the first. stack, other_stack: rows of stack.
CREATE TABLE idle_sample (id INTEGER PRIMARY KEY, process INTEGER NOT NULL, thread INTEGER,
    at_ns INTEGER NOT NULL, span_ns INTEGER, about INTEGER NOT NULL, state TEXT,
    system_call INTEGER, target INTEGER NOT NULL, signs INTEGER NOT NULL, pid_or_tid INTEGER,
    stack INTEGER, other_stack INTEGER, delay_ns INTEGER, cpu_ns INTEGER, text TEXT);

-- Why devices of a process were idle (report/analyse/idle), written when the trace is finished.
-- gaps: how many idle times this row stands for; more than 1: short ones between the same two calls.
CREATE TABLE idle_time (id INTEGER PRIMARY KEY, process INTEGER NOT NULL, device INTEGER,
    thread INTEGER, start_ns INTEGER NOT NULL, duration_ns INTEGER NOT NULL, gaps INTEGER NOT NULL,
    reason TEXT NOT NULL, detail TEXT, samples INTEGER NOT NULL, stack INTEGER,
    confidence TEXT NOT NULL, previous_call INTEGER, next_call INTEGER);

CREATE TABLE sample (id INTEGER PRIMARY KEY, uuid TEXT, at_ns INTEGER NOT NULL,
    gpu_percent INTEGER, memory_percent INTEGER, memory_used_bytes INTEGER, power_mw INTEGER,
    sm_clock_mhz INTEGER, memory_clock_mhz INTEGER, temperature_c INTEGER);

-- Sums of minutes whose rows are gone (GPUVERIFY_KEEP): what the view "minutes" says of them. minute: its
-- number since the session's start. process: 0: all. what: a row of minute_what. Before meta's
-- "full_from_ns", only these count in that view; it is the end of a minute.
CREATE TABLE older (minute INTEGER NOT NULL, process INTEGER NOT NULL, what INTEGER NOT NULL,
    name INTEGER NOT NULL, count INTEGER, total_ns INTEGER, max_ns INTEGER, bytes INTEGER,
    PRIMARY KEY (minute, process, what, name)) WITHOUT ROWID;
-- The same of the rest of a finished trace that has such minutes, as a report is not to read its rows again.
CREATE TABLE minute_total (minute INTEGER NOT NULL, process INTEGER NOT NULL, what INTEGER NOT NULL,
    name INTEGER NOT NULL, count INTEGER, total_ns INTEGER, max_ns INTEGER, bytes INTEGER,
    PRIMARY KEY (minute, process, what, name)) WITHOUT ROWID;
CREATE TABLE older_name (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
-- Rows of these minutes that stay, because later calls need them. what: 1: of call, 2: of gpu_op.
CREATE TABLE older_row (what INTEGER NOT NULL, id INTEGER NOT NULL, PRIMARY KEY (what, id)) WITHOUT ROWID;
-- Stalls of these minutes: the newest and the longest, without those that the program asked for. api, kernel,
-- thread, stack: rows that stay.
CREATE TABLE older_stall (id INTEGER PRIMARY KEY, process INTEGER, thread INTEGER, api INTEGER, kernel INTEGER,
    start_ns INTEGER NOT NULL, duration_ns INTEGER NOT NULL, cause TEXT NOT NULL, wait_ns INTEGER NOT NULL,
    work_ns INTEGER NOT NULL, jit_ns INTEGER NOT NULL, confidence TEXT NOT NULL, stack INTEGER, advice TEXT);
CREATE TABLE minute_what (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
INSERT INTO minute_what VALUES (1, 'recorded'), (2, 'busy'), (3, 'idle'), (4, 'stall'), (5, 'call'),
    (6, 'launch'), (7, 'kernel'), (8, 'graph'), (9, 'copy'), (10, 'set'), (11, 'load'), (12, 'line');

-- Processes outside the session that used its devices, as NVML lists them. started, ended: whether
-- it came, and went, while they were sampled.
CREATE TABLE other_process (id INTEGER PRIMARY KEY, uuid TEXT, pid INTEGER, name TEXT,
    first_ns INTEGER NOT NULL, last_ns INTEGER NOT NULL, started INTEGER NOT NULL,
    ended INTEGER NOT NULL);
-- The most of the device's memory that it had at a look, where that is known.
CREATE TABLE other_process_memory (other INTEGER PRIMARY KEY, bytes INTEGER NOT NULL);

-- CUpti_ActivityMemcpyKind
CREATE TABLE copy_kind (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
INSERT INTO copy_kind VALUES (1, 'host to device'), (2, 'device to host'), (3, 'host to array'),
    (4, 'array to host'), (5, 'array to array'), (6, 'array to device'), (7, 'device to array'),
    (8, 'device to device'), (9, 'host to host'), (10, 'peer to peer');
