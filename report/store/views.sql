-- The views of a trace, which are the contract with everybody who reads one.
--
-- The comments are part of it: SQLite keeps them with the view, and `gpuverify schema` prints them.
-- The first one, after AS, describes a row; the one after each column describes the column. All joins
-- are left joins, because SQLite drops those whose columns nobody needs.

CREATE VIEW calls AS -- one outermost CUDA call
SELECT
    c.id AS id, -- increases in the order of storage; within a thread that is the order of the calls
    t.process AS process, -- id in processes
    c.thread AS thread, -- id in threads
    a.name AS name, -- the exported symbol, such as cuLaunchKernel_ptsz
    a.class AS class, -- init, context, load, unload, function, launch, copy, set, sync, alloc, free, stream, event, graph
    c.start_ns AS start_ns, -- since the session's start
    c.duration_ns AS duration_ns, -- from call to return; if count is above 1, the sum of all
    c.result AS result, -- as returned; NULL if a C++ exception left the call
    coalesce(c.context, s.context) AS context, -- id in contexts
    c.stream AS stream, -- id in streams
    c.bytes AS bytes, -- moved or requested; the release threshold (at most 1 << 48) that a call sets for a memory pool
    k.name AS kernel, -- name of the launched kernel, or of the one whose function the call returned
    coalesce(k.module, m.module) AS module, -- loaded or unloaded by the call, or the kernel's module; id in modules
    c.correlation AS correlation, -- CUPTI's number of the call, if it could start something on the GPU; or the number of its sample
    cs.stack AS stack, -- where in the program, see frames; docs/stacks.md says which calls have one
    c.object AS object, -- pointer or handle that the call made or used
    c.kernel AS kernel_id, -- id in kernels
    coalesce(f.count, 1) AS count, -- calls in this row: consecutive polls that return "not ready" (600) share one
    coalesce(f.span_ns, c.duration_ns) AS span_ns, -- from the start of the first call to the end of the last one
    a.kind AS call_kind, -- kind within the class, such as copy-async; docs/apis.md lists the calls of each
    CASE WHEN cs.stack IS NOT NULL THEN oc.call IS NULL END AS own_stack, -- 1: the stack is this call's own; 0: it is that of an earlier call of the same site; NULL: no stack
    (SELECT range FROM call_range WHERE thread = c.thread AND call <= c.id ORDER BY call DESC LIMIT 1) AS range -- the innermost range that its thread was in; id in ranges
FROM call c
    LEFT JOIN thread t ON t.id = c.thread
    LEFT JOIN api a ON a.id = c.api
    LEFT JOIN stream s ON s.id = c.stream
    LEFT JOIN kernel k ON k.id = c.kernel
    LEFT JOIN call_module m ON m.call = c.id
    LEFT JOIN call_stack cs ON cs.call = c.id
    LEFT JOIN call_stack_of_other oc ON oc.call = c.id
    LEFT JOIN call_fold f ON f.call = c.id;

CREATE VIEW gpu_ops AS -- one kernel, copy, memory set or graph that ran on a GPU
SELECT
    o.id AS id, -- increases
    CASE o.kind WHEN 1 THEN 'kernel' WHEN 2 THEN 'copy' WHEN 3 THEN 'set' WHEN 4 THEN 'graph' END AS kind, -- kernel, copy, set, or graph (a whole launched one, unless GPUVERIFY_GRAPHS=nodes)
    CASE o.kind WHEN 1 THEN n.name WHEN 2 THEN coalesce(y.name, 'copy') WHEN 3 THEN 'memset' WHEN 4 THEN 'graph' END AS name, -- the kernel's name as written in C++, or the copy's direction
    p.process AS process, -- id in processes
    p.device AS device, -- the process's number of the device
    coalesce(c.context, st.context) AS context, -- the call's; id in contexts
    CASE WHEN o.graph_node IS NULL THEN c.stream END AS stream, -- the call's; id in streams
    o.start_ns AS start_ns, -- on the GPU, by the clock of the calls
    o.duration_ns AS duration_ns, -- on the GPU
    o.bytes AS bytes, -- of a copy or set
    o.call AS call, -- the call that started it; id in calls
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
    s.dynamic_shared_bytes AS dynamic_shared_bytes, -- of one block, requested by the launch
    n.linkage AS linkage_name, -- the kernel's linked name
    o.graph_node AS graph_node, -- the node, if it was recorded as a node of a graph
    p.context AS cupti_context, -- CUPTI's number of the context
    p.stream AS cupti_stream, -- CUPTI's number of the stream: tells streams apart where stream is NULL
    CASE o.copy_kind >> 4 WHEN 1 THEN 'pageable' WHEN 2 THEN 'pinned' WHEN 5 THEN 'managed' WHEN 7 THEN 'managed' END AS host_memory, -- of a copy from or to the host: pageable, pinned or managed
    gn.stack AS node_stack -- of a node: the stack of the call that added it to the graph; id in stacks
FROM gpu_op o
    LEFT JOIN gpu_place p ON p.id = o.place
    LEFT JOIN gpu_shape s ON s.id = o.shape
    LEFT JOIN gpu_name n ON n.id = s.name
    LEFT JOIN copy_kind y ON y.id = o.copy_kind & 15
    LEFT JOIN call c ON c.id = o.call
    LEFT JOIN stream st ON st.id = c.stream
    LEFT JOIN graph_node gn ON gn.process = p.process AND gn.node = o.graph_node;

CREATE VIEW loads AS -- one load of code, also inside another call
SELECT
    l.id AS id, -- negative for a lazy load
    l.call AS call, -- the outermost call around it; id in calls; NULL if that never returned
    l.kind AS kind, -- cubin, ptx, fatbin, image, file, library, link (input of a linker), lazy (with a call that loads nothing itself)
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
        THEN 0 END) END AS jit_ns, -- compiling, or finding compiled code in the cache; NULL if unknown: the GPU side, or a part of it, is missing
    w.wait_ns AS wait_ns, -- waiting until the GPU was idle
    w.gpu_busy AS gpu_busy, -- 1: the GPU was busy when the load began
    l.result AS result, -- 0, or the driver's error
    l.image AS image, -- what the image is: cubin, ptx, fatbin
    l.module AS module, -- the resulting module; id in modules; NULL if it failed
    t.process AS process, -- id in processes
    l.thread AS thread, -- id in threads
    a.name AS function, -- name of the loading call
    l.handle AS handle, -- of the module or library
    NULL AS kernel, -- the kernel whose first use loaded it lazily
    l.library AS library -- the program or shared library that contains the image
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

CREATE VIEW host_functions AS -- one function that the CPU ran when its stream reached it: cudaLaunchHostFunc, stream callbacks
SELECT
    h.id AS id, -- increases
    h.process AS process, -- id in processes
    h.call AS call, -- the call that put it into its stream; id in calls
    coalesce(c.context, s.context) AS context, -- the call's; id in contexts
    c.stream AS stream, -- the call's; id in streams
    h.start_ns AS start_ns, -- since the session's start; NULL: it is not known to have run
    h.duration_ns AS duration_ns, -- of it
    f.function AS name, -- as written in C++; NULL: unknown, as of a Python function, or of the CUDA runtime
    f.library AS library, -- file with the code
    f.file AS file, -- source file
    f.line AS line, -- its first line
    h.thread AS thread -- the driver's thread that ran it; id in threads
FROM host_function h
    LEFT JOIN call c ON c.id = h.call
    LEFT JOIN stream s ON s.id = c.stream
    LEFT JOIN stack k ON k.process = h.process AND k.number = h.stack
    LEFT JOIN frame f ON f.stack = k.id AND f.kind <> 'runtime'
        AND f.depth = (SELECT max(depth) FROM frame WHERE stack = k.id); -- not what is inlined at its start

CREATE VIEW ranges AS -- one range or mark with which the program said what it did: NVTX, gpuverify.h
SELECT
    r.id AS id, -- increases; within a thread in the order of the starts
    t.process AS process, -- id in processes
    r.thread AS thread, -- that began it; id in threads
    CASE r.kind WHEN 1 THEN 'push' WHEN 2 THEN 'start' WHEN 3 THEN 'mark' END AS kind, -- push: ended by a pop of its thread; start: ended by any thread; mark: a moment
    d.text AS domain, -- NVTX's domain; NULL: the default one
    m.text AS message, -- the program's text; NULL: none, or it was lost
    r.category AS category, -- NVTX's number; NULL: none
    c.text AS category_name, -- the name that the program gave to it
    CASE WHEN r.color IS NOT NULL THEN printf('#%06x', r.color & 0xffffff) END AS color, -- red, green, blue; NULL: none
    r.payload AS payload, -- a number of the program's; NULL: none
    r.start_ns AS start_ns, -- since the session's start
    r.duration_ns AS duration_ns, -- NULL: it has no end; of a mark 0
    r.depth AS depth, -- of a push: how many ranges lead outwards from it, over parent
    r.parent AS parent -- the innermost of these; id in ranges
FROM range r
    LEFT JOIN thread t ON t.id = r.thread
    LEFT JOIN range_text d ON d.id = r.domain
    LEFT JOIN range_text m ON m.id = r.text
    LEFT JOIN range_text c ON c.id = r.category_name;

CREATE VIEW range_summary AS -- all ranges or marks with one name, and what the calls in them did
SELECT
    CASE r.kind WHEN 1 THEN 'push' WHEN 2 THEN 'start' WHEN 3 THEN 'mark' END AS kind, -- as in ranges
    r.domain AS domain, -- as in ranges
    r.text AS message, -- as in ranges; # stands for numbers if many texts differ only in them
    r.count AS count, -- how many there were
    r.unended AS unended, -- how many of these have no end; the times leave them out
    r.total_ns AS total_ns, -- from starts to ends, together
    r.min_ns AS min_ns, -- shortest
    r.median_ns AS median_ns, -- for an even count the lower one
    r.max_ns AS max_ns, -- longest
    r.calls AS calls, -- calls in them; docs/ranges.md says which calls are in a range
    r.launches AS launches, -- calls that put work on the GPU
    r.gpu_ns AS gpu_ns, -- time on the GPU of what these calls put there; NULL: unknown
    r.stalls AS stalls, -- unexpected stalls of these calls
    r.stall_ns AS stall_ns, -- what these lost
    r.max_stall_ns AS max_stall_ns, -- the most that one of these lost
    r.idle_ns AS idle_ns, -- the part of total_ns in which no device of the process had work; NULL: unknown
    r.loads AS loads, -- loads of code by these calls
    r.load_ns AS load_ns, -- time in these loads
    r.allocations AS allocations, -- of device memory
    r.allocated_bytes AS allocated_bytes -- in these
FROM range_total r;

CREATE VIEW steps AS -- one step of the program: a range or mark that repeats, or launches that repeat
SELECT
    s.series AS series, -- the steps of one thread have one number
    s.number AS number, -- in its series, from 1
    e.process AS process, -- id in processes
    e.thread AS thread, -- that did it; id in threads
    e.source AS source, -- what repeats: range, mark or launches
    e.domain AS domain, -- of the range or mark, as in ranges
    e.message AS message, -- of the range or mark, as in range_summary
    s.kind AS kind, -- steps that launch alike have the same one
    s.warmup AS warmup, -- 1: it is one of the first, which took longer than others of their kind, or set up the loop
    s.start_ns AS start_ns, -- since the session's start
    s.duration_ns AS duration_ns, -- until its end, or until the next step
    s.calls AS calls, -- that begin in its time, of the process; if it has several series, of the thread
    s.launches AS launches, -- calls that put work on the GPU
    s.gpu_ns AS gpu_ns, -- time on the GPU of what these calls put there; NULL: unknown
    s.stalls AS stalls, -- unexpected stalls of these calls
    s.stall_ns AS stall_ns, -- what these lost
    s.max_stall_ns AS max_stall_ns, -- the most that one of these lost
    s.idle_ns AS idle_ns, -- the part of duration_ns in which no device of the process had work; NULL: unknown
    s.loads AS loads, -- loads of code by these calls
    s.load_ns AS load_ns, -- time in these loads
    s.allocations AS allocations, -- of device memory
    s.allocated_bytes AS allocated_bytes -- in these
FROM step s LEFT JOIN step_series e ON e.id = s.series;

CREATE VIEW stalls AS -- one call that lost time, and why
SELECT
    x.id AS id, -- increases in the order of the calls' start; s15 in the commands
    x.call AS call, -- id in calls
    x.cause AS cause, -- see docs/stalls.md
    x.expected AS expected, -- 1: the program asked to wait (explicit-sync)
    c.start_ns AS start_ns, -- of the call
    c.duration_ns AS duration_ns, -- of the call: wait_ns + work_ns + jit_ns
    x.wait_ns AS wait_ns, -- waiting: for the GPU, for another thread's call, or for something unknown
    x.work_ns AS work_ns, -- the call's own work
    x.jit_ns AS jit_ns, -- compiling
    x.waited_for AS waited_for, -- the last operation that had to finish; id in gpu_ops
    x.blocked_by AS blocked_by, -- the call that blocked it; id in calls
    x.confidence AS confidence, -- measured: with the GPU side, by the Linux kernel, or by the end of a host function; inferred: from the calls alone
    v.text AS advice, -- what to do
    x.drained_count AS drained_count, -- operations that had to finish
    x.drained_ns AS drained_ns, -- from the first one's start to the last one's end
    t.process AS process, -- id in processes
    c.thread AS thread, -- id in threads
    a.name AS name, -- the call's name
    k.name AS kernel, -- launched by the call
    cs.stack AS stack, -- where in the program; see frames
    x.presumed AS presumed, -- inferred only: the last call whose work was not known to be finished; id in calls
    d.delay_ns AS delay_ns, -- the least time for which the thread waited for a CPU; NULL: unknown
    coalesce(op.pid, os.pid) AS other_pid, -- other-process only: the other process; NULL: unknown
    coalesce(op.name, os.program) AS other_name, -- its name; NULL: unknown
    ox.did AS other_did, -- call (blocked_by), start, end, or use: it used the GPU
    h.host_function AS host_function, -- the host function that most of the wait was for; id in host_functions
    CASE WHEN cs.stack IS NOT NULL THEN oc.call IS NULL END AS own_stack -- as in calls
FROM stall x
    LEFT JOIN stall_host h ON h.stall = x.id
    LEFT JOIN stall_advice v ON v.id = x.advice
    LEFT JOIN call c ON c.id = x.call
    LEFT JOIN thread t ON t.id = c.thread
    LEFT JOIN api a ON a.id = c.api
    LEFT JOIN kernel k ON k.id = c.kernel
    LEFT JOIN call_stack cs ON cs.call = c.id
    LEFT JOIN call_stack_of_other oc ON oc.call = c.id
    LEFT JOIN call_delay d ON d.call = c.id
    LEFT JOIN stall_other ox ON ox.stall = x.id
    LEFT JOIN process os ON os.id = ox.process
    LEFT JOIN other_process op ON op.id = ox.other;

CREATE VIEW older_stalls AS -- one stall of a time that is kept as sums by minute (GPUVERIFY_KEEP): the newest and the longest
SELECT
    o.id AS id, -- increases in the order of storage
    o.start_ns AS start_ns, -- of the call
    o.duration_ns AS duration_ns, -- of the call: wait_ns + work_ns + jit_ns
    o.cause AS cause, -- as in stalls; never one that the program asked for
    o.wait_ns AS wait_ns, -- as in stalls
    o.work_ns AS work_ns, -- as in stalls
    o.jit_ns AS jit_ns, -- as in stalls
    o.confidence AS confidence, -- as in stalls
    o.process AS process, -- id in processes
    o.thread AS thread, -- id in threads
    a.name AS name, -- the call's name
    k.name AS kernel, -- launched by the call
    o.stack AS stack, -- where in the program; see frames
    o.advice AS advice -- what to do
FROM older_stall o
    LEFT JOIN api a ON a.id = o.api
    LEFT JOIN kernel k ON k.id = o.kernel;

CREATE VIEW idle AS -- a part of a time in which a device had no work of a process, for one reason at one line; or all short ones of a reason and line together
SELECT
    id AS id, -- i3 in the commands
    process AS process, -- id in processes
    device AS device, -- as in gpu_ops; NULL: the GPU side was not seen
    thread AS thread, -- whose time it was; id in threads
    start_ns AS start_ns, -- of the longest, if the row stands for several
    duration_ns AS duration_ns, -- of all of them together
    gap AS gap, -- the same in all parts of one idle time; NULL: the row is all others for a reason at a line, as the longest have rows of their own
    gap_ns AS gap_ns, -- of that whole idle time: parts below 2 % of it have no rows of their own; NULL: the row is of several
    is_inner AS is_inner, -- 1: that idle time is between two operations of the device; 0: before the first, after the last, or the row is of several
    gaps AS gaps, -- how many parts of idle times it stands for
    reason AS reason, -- an account of the ledger, or the cause of a stall; see docs/ledger.md
    detail AS detail, -- the function, the file, the child's command, the thread that has the GIL, ...
    samples AS samples, -- how often the library looked at the thread in this time
    stack AS stack, -- where in the program; see frames
    confidence AS confidence, -- measured: from calls and GPU records; sampled: from looks in this very time; grouped: from looks in times like it; inferred: without looks, or without a GPU side
    previous_call AS previous_call, -- the call that gave the device work before; id in calls; NULL: none did, it is not known, or the row is of several idle times
    next_call AS next_call -- the call that gave the device work next; id in calls; NULL: none did, it is not known, or the row is of several idle times
FROM idle_time;

CREATE VIEW ledger AS -- where the time of each device of each process went: its rows add up to the run
SELECT
    l.process AS process, -- id in processes
    l.device AS device, -- as in gpu_ops; NULL: the GPU side was not seen
    CASE l.phase WHEN 0 THEN 'start' WHEN 1 THEN 'main' ELSE 'end' END AS phase, -- start: until the steps, or the first work; main; end: after the last
    l.what AS what, -- the account: docs/ledger.md
    p.file AS file, -- of the program's own line; NULL: unknown
    p.line AS line, -- in it
    p.function AS function, -- as written in C++ or Python
    c.file AS claimed_by_file, -- of the line whose wait for the GPU made it idle: overlapping would save this time
    c.line AS claimed_by_line, -- in it
    CASE WHEN l.claimed IS NOT NULL THEN coalesce(c.function, '?') END AS claimed_by_function, -- NULL: nobody claims it
    l.total_ns AS total_ns, -- of all pieces together
    l.count AS count, -- pieces
    l.error_ns AS error_ns, -- standard error of total_ns
    l.first_half_ns AS first_half_ns, -- in the first half of the phase
    l.total_ns - l.first_half_ns AS second_half_ns, -- in the second half
    l.confidence AS confidence, -- measured; sampled: split by looks, by stacks of calls, or by samples of the GPU's work; inferred: from calls alone
    l.detail AS detail -- the file, the child's command, the thread that has the GIL, ...
FROM ledger_row l LEFT JOIN place p ON p.id = l.place LEFT JOIN place c ON c.id = l.claimed;

CREATE VIEW ledger_minutes AS -- the ledger by minute, including older time kept only as sums (GPUVERIFY_KEEP)
SELECT
    l.minute AS minute, -- since the session's start
    l.process AS process, -- id in processes
    l.device AS device, -- as in ledger
    CASE l.phase WHEN 0 THEN 'start' WHEN 1 THEN 'main' ELSE 'end' END AS phase, -- as in ledger; always main for older time
    l.what AS what, -- as in ledger; the largest rows of a minute have lines, the rest is by account
    l.file AS file, -- as in ledger
    l.line AS line, -- as in ledger
    l.function AS function, -- as in ledger
    l.claimed_file AS claimed_by_file, -- as in ledger
    l.claimed_line AS claimed_by_line, -- as in ledger
    l.claimed_function AS claimed_by_function, -- as in ledger
    l.total_ns AS total_ns, -- in this minute
    l.count AS count, -- pieces
    l.error_ns AS error_ns, -- standard error of total_ns
    l.first_half_ns AS first_half_ns, -- in the first half of the minute
    l.total_ns - l.first_half_ns AS second_half_ns, -- in the second half
    l.confidence AS confidence, -- as in ledger
    NULL AS detail -- not kept
FROM (SELECT minute, process, device, 1 AS phase, what, file, line, function, claimed_file, claimed_line, claimed_function,
        total_ns, count, error_ns, first_half_ns, confidence FROM older_ledger
    UNION ALL SELECT m.minute, m.process, m.device, m.phase, m.what, p.file, p.line, p.function, c.file, c.line,
        CASE WHEN m.claimed IS NOT NULL THEN coalesce(c.function, '?') END,
        m.total_ns, m.count, m.error_ns, m.first_half_ns, m.confidence
    FROM ledger_minute m LEFT JOIN place p ON p.id = m.place LEFT JOIN place c ON c.id = m.claimed) l;

CREATE VIEW findings AS -- one thing that could be saved, the most first
SELECT
    f.id AS id, -- 1 is f1 in the commands
    f.key AS key, -- the same from run to run: what, file's name and function
    f.process AS process, -- id in processes
    f.device AS device, -- as in ledger
    CASE f.phase WHEN 0 THEN 'start' WHEN 1 THEN 'main' ELSE 'end' END AS phase, -- as in ledger
    f.what AS what, -- an account, or a word that only findings have: docs/ledger.md
    p.file AS file, -- of the line to look at
    p.line AS line, -- in it
    p.function AS function, -- as in ledger
    f.lost_ns AS lost_ns, -- in the phase
    f.saves_ns AS saves_ns, -- at most, with what waits claim of the same work; NULL: nothing of itself
    f.lost_ns * 1.0 / nullif(f.phase_ns, 0) AS share, -- lost_ns of the phase, without not-seen and no-request; 0 to 1
    f.error_ns AS error_ns, -- standard error of lost_ns
    f.count AS count, -- pieces of time
    f.steps AS steps, -- of the phase; 0: it has none
    f.confidence AS confidence, -- as in ledger
    f.title AS title, -- what and where, in words
    f.fix AS fix, -- what to change
    f.afterwards AS "then", -- what limits afterwards; NULL: not known
    f.stall AS stall, -- a stall that shows it; id in stalls
    f.idle AS idle, -- an idle time that shows it; id in idle
    f.times AS times -- how many idle times made up most of it; NULL: it is part of each step, or there are no steps
FROM finding f LEFT JOIN place p ON p.id = f.place;

CREATE VIEW gpu_use AS -- what limited a device while a process kept it busy, by samples of GPM; no row: no GPM
SELECT
    process AS process, -- id in processes
    nullif(device, -1) AS device, -- the process's number of it; NULL: only its calls were recorded, and its device's utilisation says when it was busy
    CASE phase WHEN 0 THEN 'start' WHEN 1 THEN 'main' WHEN 2 THEN 'end' ELSE 'run' END AS phase, -- as in ledger; run: all
    samples AS samples, -- that count: the process kept the device busy for two thirds of their time or more
    busy_ns AS busy_ns, -- of these
    words AS words, -- what limited it; NULL: fewer than 3 samples
    sm_tenths / 10.0 AS sm_percent, -- as in samples, of the busy time
    occupancy_tenths / 10.0 AS occupancy_percent, -- the same
    tensor_tenths / 10.0 AS tensor_percent, -- the same
    dram_tenths / 10.0 AS dram_percent, -- the same
    fp64_tenths / 10.0 AS fp64_percent, -- the same
    fp32_tenths / 10.0 AS fp32_percent, -- the same
    fp16_tenths / 10.0 AS fp16_percent, -- the same
    pcie_tenths / 10.0 AS pcie_percent -- the same
FROM lane_use;

CREATE VIEW facts AS -- what is true of the run beside its ledger
SELECT
    process AS process, -- id in processes; NULL: of several
    name AS name, -- out of memory, memory full, no CUDA, no kernel, launch-blocking, unfinished, memory grows, late rank, accelerated
    detail AS detail -- in words
FROM run_fact;

CREATE VIEW gpu_lines AS -- one line of the program that asked for the GPU's time
SELECT
    p.file AS file, -- source file; NULL: unknown
    p.line AS line, -- line in it
    p.function AS function, -- as written in C++ or Python; of a library if no line of the program is known
    l.gpu_ns AS gpu_ns, -- time of its kernels, copies, sets and graphs on the GPU; NULL: the GPU side was not seen
    l.gpu_ns * 1.0 / nullif((SELECT sum(gpu_ns) FROM gpu_line), 0) AS share, -- of the time of all, 0 to 1
    l.error_ns * 1.0 / nullif((SELECT sum(gpu_ns) FROM gpu_line), 0) AS error, -- standard error of share; 0: exact
    l.launches AS launches, -- calls that put work on the GPU, estimated from the samples
    l.samples AS samples, -- of these, calls whose own stack was taken
    l.queued_ns AS queued_ns, -- from the start of these calls to the start of their work, together
    l.idle_ns AS idle_ns, -- how long the device had been idle before that work, together
    p.library AS library, -- file with the code
    c.file AS captured_file, -- of graphs: where they were captured
    c.line AS captured_line -- line in it
FROM gpu_line l
    LEFT JOIN place p ON p.id = l.place
    LEFT JOIN place c ON c.id = l.capture;

CREATE VIEW memory_lines AS -- one line of the program that allocated memory with one call
SELECT
    p.file AS file, -- source file; NULL: unknown
    p.line AS line, -- line in it; NULL: the calls have no stack, as those for less than 1 MB
    p.function AS function, -- as written in C++ or Python; of a library if no line of the program is known
    a.name AS name, -- the CUDA call
    m.space AS space, -- device, host (pinned), managed
    m.allocations AS allocations, -- calls that succeeded
    m.allocated_bytes AS allocated_bytes, -- by all of them together
    m.freed AS freed, -- allocations that the program freed
    m.largest_bytes AS largest_bytes, -- largest allocation
    m.peak_bytes AS peak_bytes, -- most that the line held at once
    m.at_peak_bytes AS at_peak_bytes, -- what it held when its device held most; of host memory: when most was pinned
    m.left_bytes AS left_bytes, -- never freed
    m.life_ns AS life_ns, -- median time from the allocation to its end, of what was freed; NULL: nothing was
    m.allocated_bytes * 1.0 / nullif(m.peak_bytes, 0) AS churn, -- how many times it allocated its peak_bytes; 1: once, and kept it
    m.time_ns AS time_ns, -- in the calls that allocated and freed
    p.library AS library -- file with the code
FROM memory_line m
    LEFT JOIN place p ON p.id = m.place
    LEFT JOIN api a ON a.id = m.api;

CREATE VIEW memory_peak AS -- one thing that held a device's memory when most of it was allocated
SELECT
    t.at_ns AS at_ns, -- when that was
    t.number AS number, -- of the device, the same for all processes; NULL: it is not known on which device
    d.device AS device, -- the number that a process has for it
    d.uuid AS uuid, -- as in devices
    h.what AS what, -- allocated; outside: contexts, code, local memory, what pools keep, libraries' own memory; other processes
    h.process AS process, -- id in processes
    p.file AS file, -- of the line that allocated; NULL: unknown
    p.line AS line, -- line in it; NULL: the calls have no stack, as those for less than 1 MB
    p.function AS function, -- as written in C++ or Python; of a library if no line of the program is known
    a.name AS name, -- the CUDA call
    m.space AS space, -- device, managed
    h.blocks AS blocks, -- allocations
    h.bytes AS bytes, -- that they held; NULL: unknown
    h.bytes * 1.0 / nullif(d.memory_bytes, 0) AS share, -- of the device's memory, 0 to 1
    p.library AS library -- file with the code
FROM memory_top t
    JOIN (SELECT 'allocated' AS what, device, process, line, blocks, bytes FROM memory_holder
        UNION ALL SELECT 'outside', number, NULL, NULL, NULL, outside_bytes FROM memory_top
        UNION ALL SELECT 'other processes', number, NULL, NULL, others, other_bytes
            FROM memory_top WHERE others > 0) h ON h.device IS t.number
    LEFT JOIN device d ON d.id = t.device
    LEFT JOIN memory_line m ON m.id = h.line
    LEFT JOIN place p ON p.id = m.place
    LEFT JOIN api a ON a.id = m.api
ORDER BY t.number, h.what <> 'allocated', h.bytes DESC;

CREATE VIEW frames AS -- one frame of a stack
SELECT
    f.stack AS stack, -- as in calls
    f.depth AS depth, -- 0 is the innermost; numbers may be missing
    f.kind AS kind, -- native, python, or runtime (CUDA's own or the C++ library's code, not the program's)
    f.function AS function, -- as written in C++ or Python
    f.library AS library, -- file with the code
    f.file AS file, -- source file
    f.line AS line, -- line in it
    f.address AS address -- program counter, in the library; NULL: Python, or a function that is inlined into the next frame's
FROM frame f;

CREATE VIEW in_flight AS -- one call that had not returned when its process ended, or when the watchdog looked
SELECT
    f.process AS process, -- id in processes
    t.id AS thread, -- id in threads
    f.tid AS tid, -- the system's thread id
    f.name AS thread_name, -- the thread's name
    a.name AS name, -- the call's name
    a.class AS class, -- the call's class
    f.start_ns AS start_ns, -- since the session's start
    k.name AS kernel, -- launched by the call
    f.stream_handle AS stream_handle, -- the stream's handle
    f.seen_ns - f.start_ns AS elapsed_ns, -- time in the call when last seen
    f.cause AS cause, -- as in stalls, if known
    f.waited_for AS waited_for, -- id in gpu_ops, or NULL, because an operation that has not ended has no row
    f.blocked_by_thread AS blocked_by_thread, -- the thread that blocks it; id in threads
    f.confidence AS confidence, -- as in stalls
    f.advice AS advice, -- what to do, if known
    f.state AS state -- what it waits for
FROM flight f
    LEFT JOIN api a ON a.id = f.api
    LEFT JOIN kernel k ON k.id = f.kernel
    LEFT JOIN thread t ON t.process = f.process AND t.serial = f.thread_serial;

CREATE VIEW lost_captures AS -- one capture of a graph that was lost
SELECT
    l.begin_call AS begin_call, -- the call that began it; id in calls
    l.call AS call, -- the first call that failed in it, and so lost it, of any thread; id in calls; NULL: not recorded
    l.end_call AS end_call, -- the call that ended it; id in calls; NULL: none did
    t.process AS process, -- id in processes
    b.thread AS thread, -- that began it; id in threads
    b.start_ns AS start_ns, -- of the capture
    ba.name AS begin_name, -- name of begin_call
    bs.stack AS begin_stack, -- where it was made; see frames
    c.thread AS call_thread, -- that made the call; id in threads
    ca.name AS name, -- name of the call
    c.result AS result, -- of the call, such as 900: not allowed in a capture
    cs.stack AS stack, -- where the call was made; see frames
    ea.name AS end_name, -- name of end_call
    e.result AS end_result, -- 901: the capture was lost before; 904: a stream that joined it was not joined back
    es.stack AS end_stack, -- where it was made; see frames
    CASE WHEN c.id IS NULL AND e.result = 904 THEN 'Before it ends the capture, let its first stream wait for an event of every stream that joined it.'
        WHEN c.id IS NULL THEN 'Find the call that failed in the capture, and make it before.'
        WHEN c.result = 906 THEN 'Use no default stream during the capture: launch into the captured stream, or create the captured stream with cudaStreamNonBlocking.'
        WHEN c.result <> 900 THEN 'Use the stream or the event of that call in one capture only.'
        WHEN c.thread <> b.thread THEN 'Begin the capture in the mode cudaStreamCaptureModeThreadLocal (in PyTorch, capture_error_mode="thread_local"), which other threads do not disturb, or make the call before the capture.'
        WHEN ca.class = 'sync' OR ca.kind IN ('stream-query', 'event-query') THEN 'Wait for the GPU, and ask about it, before the capture or after it: what is captured does not run yet.'
        WHEN ca.class = 'load' THEN 'Load before the capture: run what is to be captured once without it. Or begin the capture in the mode cudaStreamCaptureModeRelaxed (in PyTorch, capture_error_mode="relaxed").'
        ELSE 'Make the call before the capture. Or begin the capture in the mode cudaStreamCaptureModeRelaxed (in PyTorch, capture_error_mode="relaxed").'
    END AS advice -- what to do
FROM lost_capture l
    LEFT JOIN call b ON b.id = l.begin_call
    LEFT JOIN call c ON c.id = l.call
    LEFT JOIN call e ON e.id = l.end_call
    LEFT JOIN thread t ON t.id = b.thread
    LEFT JOIN api ba ON ba.id = b.api
    LEFT JOIN api ca ON ca.id = c.api
    LEFT JOIN api ea ON ea.id = e.api
    LEFT JOIN call_stack bs ON bs.call = l.begin_call
    LEFT JOIN call_stack cs ON cs.call = l.call
    LEFT JOIN call_stack es ON es.call = l.end_call;

CREATE VIEW kernels AS -- one kernel of which the program got a handle
SELECT
    k.id AS id, -- increases; a handle that is used again after an unload is another kernel
    k.process AS process, -- id in processes
    k.name AS name, -- NULL if unknown
    k.module AS module, -- id in modules
    k.handle AS handle, -- as the program saw it
    k.named_ns AS named_ns, -- when it got its name
    k.number AS number -- increases in each process
FROM kernel k;

CREATE VIEW modules AS -- one module or library of code
SELECT
    m.id AS id, -- increases
    m.process AS process, -- id in processes
    m.number AS number, -- increases in each process
    m.unloaded_ns AS unloaded_ns -- NULL: never unloaded
FROM module m;

CREATE VIEW streams AS -- one stream
SELECT
    s.id AS id, -- increases
    s.process AS process, -- id in processes
    s.context AS context, -- id in contexts
    s.thread AS thread, -- the owner of a per-thread default stream; id in threads
    s.handle AS handle, -- as the program saw it
    s.kind AS kind -- legacy default, per-thread default, created
FROM stream s;

CREATE VIEW contexts AS -- one context
SELECT
    c.id AS id, -- increases
    c.process AS process, -- id in processes
    c.handle AS handle, -- as the program saw it
    d.device AS device -- the process's number of it; NULL: unknown
FROM context c LEFT JOIN context_device d ON d.context = c.id;

CREATE VIEW processes AS -- one process that used CUDA
SELECT
    p.id AS id, -- increases
    p.pid AS pid, -- the system's number
    p.parent_pid AS parent_pid, -- of the parent process
    p.program AS program, -- its name: train for python train.py
    p.executable AS executable, -- its file
    p.arguments AS arguments, -- quoted for a shell
    p.directory AS directory, -- its working directory
    p.forked AS forked, -- 1: a fork without exec
    p.start_ns AS start_ns, -- of recording
    p.end_ns AS end_ns, -- when it ended
    p.ended AS ended, -- exit; exec (it became another program); killed (by a signal or a crash); NULL while it runs
    p.exit_code AS exit_code, -- as given to exit()
    p.driver_version AS driver_version, -- 13000 is CUDA 13.0
    p.gpu AS gpu, -- cupti: the GPU side was recorded; sampled: how long some calls took; host-only: it was not; off: it was not wanted
    p.gpu_why AS gpu_why, -- the reason, and what to do
    p.cupti_version AS cupti_version, -- as CUPTI reports it
    p.cupti_library AS cupti_library, -- the library in use
    p.exit_signal AS exit_signal, -- the signal that killed it, if it sent it to itself or gpuverify run started it; else NULL
    r.rank AS rank, -- in its job, as the launcher said (docs/jobs.md); NULL: unknown
    r.local_rank AS local_rank, -- among the job's processes on this host; NULL: unknown
    r.world_size AS world_size, -- processes of the job; NULL: unknown
    r.job AS job, -- the launcher's or scheduler's id of it; NULL: unknown
    r.host AS host, -- the machine's name; in a container it may be the container's
    r.container AS container -- its id, image or name; NULL: none is known
FROM process p LEFT JOIN process_rank r ON r.process = p.id;

CREATE VIEW collectives AS -- one collective operation over all ranks of the trace, without sends and receives (docs/jobs.md)
SELECT
    g.id AS id, -- increases in the order of the first arrival
    printf('%016x', g.communicator) AS communicator, -- the same on all ranks
    g.sequence AS sequence, -- the n-th of its communicator, from 0; of a graph: that of its first collective
    nullif(g.replay, 0) AS replay, -- the n-th launch of the graph that it was captured into; NULL: it was not captured
    g.kind AS kind, -- all-reduce, all-gather, reduce-scatter, broadcast, ...; graph: a launch of a graph with collectives
    g.bytes AS bytes, -- of one rank, at most; NULL: unknown
    g.ranks AS ranks, -- of which it was seen
    g.first_ns AS first_ns, -- when the first one arrived: its kernel began; without a GPU side: its call
    g.last_ns AS last_ns, -- when the last one arrived
    coalesce(r.rank, k.rank) AS late_rank, -- of the one that arrived last
    t.process AS late_process, -- the same; id in processes
    g.wait_ns AS wait_ns, -- how long each of the others waited for it, on average
    g.end_ns - g.last_ns AS move_ns, -- from the last arrival to the end; NULL: unknown
    g.end_ns AS end_ns, -- when the last one ended; NULL: unknown
    g.reason AS reason, -- why it came last: a cause of stalls, a reason of idle, or gpu-work (its GPU was busy); NULL: by less than 0.1 ms
    g.detail AS detail, -- as in idle; of a stall: the call
    g.stall AS stall, -- the stall that it was; id in stalls
    g.idle AS idle, -- the idle time that it was; id in idle
    g.stack AS stack, -- where in the program; see frames
    k.call AS late_call -- the last one's call; id in calls
FROM collective_group g
    LEFT JOIN collective k ON k.id = g.late
    LEFT JOIN call c ON c.id = k.call
    LEFT JOIN thread t ON t.id = c.thread
    LEFT JOIN process_rank r ON r.process = t.process;

CREATE VIEW ranks AS -- one rank of a job: what it did, beside the others
SELECT
    r.rank AS rank, -- in its job
    r.process AS process, -- id in processes
    r.host AS host, -- as in processes
    p.end_ns - p.start_ns AS run_ns, -- from the process's start to its end
    CASE WHEN p.gpu = 'cupti' AND r.process NOT IN (SELECT process FROM gpu_change)
        THEN max(0, p.end_ns - p.start_ns - i.device_ns) END AS busy_ns, -- time in which its device had work, of several on average; NULL: unknown
    i.device_ns AS idle_ns, -- time in which its device had no work, of several on average; NULL: unknown
    coalesce(s.stalls, 0) AS stalls, -- unexpected stalls
    coalesce(s.lost_ns, 0) AS stall_ns, -- what these lost
    m.collectives AS collectives, -- in which it took part; NULL: none are known
    m.waited_ns AS waited_ns, -- how long it waited in them for the last rank
    l.late AS late, -- collectives to which it came last, by 0.1 ms or more
    l.late_ns AS late_ns -- how long the others waited for it, on average
FROM process_rank r
    JOIN process p ON p.id = r.process
    LEFT JOIN (SELECT process, sum(duration_ns) / count(DISTINCT coalesce(device, -1)) AS device_ns
        FROM idle_time GROUP BY process) i ON i.process = r.process
    LEFT JOIN (SELECT t.process AS process, count(*) AS stalls, sum(x.wait_ns + x.jit_ns) AS lost_ns
        FROM stall x JOIN call c ON c.id = x.call JOIN thread t ON t.id = c.thread
        WHERE x.expected = 0 GROUP BY t.process) s ON s.process = r.process
    LEFT JOIN (SELECT process, count(*) AS collectives, sum(wait_ns) AS waited_ns
        FROM collective_member GROUP BY process) m ON m.process = r.process
    LEFT JOIN (SELECT t.process AS process, count(*) AS late, sum(g.wait_ns) AS late_ns
        FROM collective_group g JOIN collective k ON k.id = g.late JOIN call c ON c.id = k.call
            JOIN thread t ON t.id = c.thread
        WHERE g.reason IS NOT NULL GROUP BY t.process) l ON l.process = r.process
WHERE r.rank IS NOT NULL;

CREATE VIEW clocks AS -- one clock of a job that gpuverify merge made: how its times were moved; no rows in other traces
SELECT
    c.id AS id, -- 1 is the clock that times are on
    c.trace AS trace, -- the file that it was the clock of
    c.host AS host, -- its machine
    c.method AS method, -- reference; collectives (that the traces share); same machine, wall clock (as the machines' clocks were set)
    c.offset_ns AS offset_ns, -- how far it was behind the Unix time of the first one, at the trace's start; negative: ahead
    c.drift_ppb / 1e3 AS drift_ppm, -- by how many millionths it was slower
    c.error_ns AS error_ns, -- at most so far from the truth; NULL: unknown
    c.matched AS matched -- collectives by which it was found
FROM clock c;

CREATE VIEW environment AS -- one variable that was set, and that changes what CUDA or PyTorch does or says whose program it is; no others are recorded
SELECT
    process AS process, -- id in processes
    name AS name, -- such as CUDA_LAUNCH_BLOCKING; docs/environment.md lists all
    value AS value -- when the process made its first context, or its first CUDA call; cut at 511 bytes
FROM variable;

CREATE VIEW minutes AS -- sums of one minute: of what was recorded in full, and of older time of which only they were kept
WITH RECURSIVE
stored AS (SELECT 1 FROM meta WHERE key = 'state' AND value = 'complete' AND EXISTS (SELECT 1 FROM minute_total)),
full(from_ns) AS ( -- no row: all is stored
    SELECT coalesce((SELECT value FROM meta WHERE key = 'full_from_ns'), 0) WHERE NOT EXISTS (SELECT 1 FROM stored)),
unit AS ( -- texts are slow to group by
    SELECT p.id AS place, p.process, dense_rank() OVER (ORDER BY coalesce(d.uuid, p.process || ':' || p.device)) AS number,
        coalesce(d.uuid, p.process || ':' || p.device) AS device
    FROM gpu_place p LEFT JOIN device d ON d.process = p.process AND d.device = p.device),
period AS (
    SELECT r.process, CASE r.side WHEN 'calls' THEN 'calls' ELSE 'gpu' END AS side, r.start_ns,
        coalesce(r.end_ns, (SELECT start_ns + duration_ns FROM call ORDER BY id DESC LIMIT 1)) AS end_ns
    FROM recording r
    WHERE r.start_ns IS NOT NULL AND (r.side = 'calls' OR r.gpu IN ('seen', 'operations'))),
lasting(process, what, name, start_ns, end_ns) AS ( -- cut at the ends of minutes; of all processes without overlaps
    SELECT process, 'recorded', side, start_ns, end_ns FROM period
    UNION ALL SELECT 0, 'recorded', side, max(start_ns, coalesce(before_ns, start_ns)), end_ns
    FROM (SELECT side, start_ns, end_ns, max(end_ns) OVER (PARTITION BY side ORDER BY start_ns
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before_ns FROM period)
    WHERE before_ns IS NULL OR end_ns > before_ns),
busy AS ( -- most operations are in one minute
    SELECT number, begins, max(start_ns, coalesce(before_ns, start_ns)) AS start_ns, end_ns
    FROM (SELECT u.number, o.start_ns >= from_ns AS begins, max(o.start_ns, from_ns) AS start_ns, o.start_ns + o.duration_ns AS end_ns, max(o.start_ns + o.duration_ns) OVER (
            PARTITION BY u.number ORDER BY o.start_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before_ns
        FROM full CROSS JOIN gpu_op o JOIN unit u ON u.place = o.place
        WHERE o.start_ns + o.duration_ns > from_ns)
    WHERE before_ns IS NULL OR end_ns > before_ns),
busy_sum AS (
    SELECT start_ns / 60000000000 AS minute, end_ns > (start_ns / 60000000000 + 1) * 60000000000 AS long, number,
        sum(begins) AS count, sum(end_ns - start_ns) AS ns, max(end_ns - start_ns) AS max_ns, min(start_ns) AS start_ns
    FROM busy GROUP BY 1, 3, 2, CASE WHEN end_ns > (start_ns / 60000000000 + 1) * 60000000000 THEN start_ns END),
cut(process, what, name, start_ns, end_ns, from_ns, minute) AS (
    SELECT process, what, name, start_ns, end_ns, max(start_ns, from_ns), max(start_ns, from_ns) / 60000000000
    FROM (SELECT * FROM lasting UNION ALL SELECT 0, 'busy', number, start_ns, start_ns + ns FROM busy_sum WHERE long), full
    WHERE end_ns > max(start_ns, from_ns)
    UNION ALL SELECT process, what, name, start_ns, end_ns, (minute + 1) * 60000000000, minute + 1
    FROM cut WHERE end_ns > (minute + 1) * 60000000000 AND end_ns - start_ns < 1 << 57),
call_sum AS (
    SELECT c.start_ns / 60000000000 AS minute, c.thread, c.api, c.kernel, sum(coalesce(f.count, 1)) AS count,
        sum(c.duration_ns) AS ns, max(CASE WHEN f.call IS NULL THEN c.duration_ns END) AS max_ns, sum(c.bytes) AS bytes
    FROM full CROSS JOIN call c LEFT JOIN call_fold f ON f.call = c.id
    WHERE c.start_ns >= from_ns GROUP BY 1, 2, 3, 4),
op_sum AS (
    SELECT o.start_ns / 60000000000 AS minute, o.place, o.kind, o.shape, o.copy_kind & 15 AS copy_kind, count(*) AS count,
        sum(o.duration_ns) AS ns, max(o.duration_ns) AS max_ns, sum(o.bytes) AS bytes
    FROM full CROSS JOIN gpu_op o
    WHERE o.duration_ns IS NOT NULL AND o.start_ns >= from_ns GROUP BY 1, 2, 3, 4, 5),
line_op AS ( -- of calls with a stack of their own: each stands for others
    SELECT o.start_ns / 60000000000 AS minute, p.process, t.place, o.duration_ns, coalesce(x.one_of, 1) AS weight
    FROM full CROSS JOIN call_stack s JOIN stack_place t ON t.stack = s.stack
        JOIN gpu_op o ON o.call = s.call
        JOIN gpu_place p ON p.id = o.place
        LEFT JOIN call_sample x ON x.call = s.call
    WHERE o.duration_ns IS NOT NULL AND o.start_ns >= from_ns
        AND (x.one_of > 0 OR NOT EXISTS (SELECT 1 FROM call_sample))),
line_sum AS (
    SELECT minute, process, place, total(weight) AS count, total(duration_ns * 1.0 * weight) AS ns, max(duration_ns) AS max_ns
    FROM line_op GROUP BY 1, 2, 3),
each(minute, process, what, name, count, ns, max_ns, bytes) AS (
    SELECT minute, process, what, name, from_ns = start_ns, min(end_ns, (minute + 1) * 60000000000) - from_ns,
        min(end_ns, (minute + 1) * 60000000000) - from_ns, NULL
    FROM cut WHERE what <> 'busy'
    UNION ALL SELECT m.minute, m.process, 'idle', m.what, m.count, m.idle_ns, NULL, NULL
    FROM full CROSS JOIN ledger_minute m WHERE m.idle_ns > 0
    UNION ALL SELECT c.minute, 0, 'busy', u.device, c.count, c.ns, c.max_ns, NULL
    FROM (SELECT minute, name AS number, from_ns = start_ns AS count,
            min(end_ns, (minute + 1) * 60000000000) - from_ns AS ns,
            min(end_ns, (minute + 1) * 60000000000) - from_ns AS max_ns FROM cut WHERE what = 'busy'
        UNION ALL SELECT minute, number, count, ns, max_ns FROM busy_sum WHERE NOT long) c
        JOIN (SELECT DISTINCT number, device FROM unit) u ON u.number = c.number
    UNION ALL SELECT c.start_ns / 60000000000, t.process, 'stall', x.cause, 1, x.wait_ns + x.jit_ns, x.wait_ns + x.jit_ns, NULL
    FROM full CROSS JOIN stall x JOIN call c ON c.id = x.call JOIN thread t ON t.id = c.thread
    WHERE x.expected = 0 AND c.start_ns >= from_ns
    UNION ALL SELECT l.start_ns / 60000000000, l.process, 'load', l.kind, 1, l.duration_ns, l.duration_ns, l.bytes
    FROM full CROSS JOIN loads l WHERE l.start_ns >= from_ns
    UNION ALL SELECT s.start_ns / 60000000000, s.process, CASE a.gpu_work WHEN 1 THEN 'kernel' WHEN 2 THEN 'graph' ELSE a.class END,
        coalesce(k.name, a.name), CAST(total(s.one_of) AS INTEGER), CAST(total(1.0 * s.one_of * s.duration_ns) AS INTEGER), max(s.duration_ns), NULL
    FROM full CROSS JOIN gpu_sample s JOIN call c ON c.id = s.call JOIN api a ON a.id = c.api LEFT JOIN kernel k ON k.id = c.kernel
    WHERE s.start_ns >= from_ns GROUP BY 1, 2, 3, 4
    UNION ALL SELECT c.minute, t.process, 'call', a.name, c.count, c.ns, c.max_ns, c.bytes
    FROM call_sum c JOIN thread t ON t.id = c.thread JOIN api a ON a.id = c.api
    UNION ALL SELECT c.minute, t.process, 'launch', CASE a.gpu_work WHEN 1 THEN coalesce(k.name, '?') ELSE 'graph' END,
        c.count, c.ns, c.max_ns, NULL
    FROM call_sum c JOIN thread t ON t.id = c.thread JOIN api a ON a.id = c.api AND a.gpu_work IN (1, 2)
        LEFT JOIN kernel k ON k.id = c.kernel
    UNION ALL SELECT o.minute, p.process,
        CASE o.kind WHEN 1 THEN 'kernel' WHEN 2 THEN 'copy' WHEN 3 THEN 'set' ELSE 'graph' END,
        CASE o.kind WHEN 1 THEN coalesce(n.name, '?') WHEN 2 THEN coalesce(y.name, 'copy') WHEN 3 THEN 'memset' ELSE 'graph' END,
        o.count, o.ns, o.max_ns, o.bytes
    FROM op_sum o LEFT JOIN gpu_place p ON p.id = o.place LEFT JOIN gpu_shape s ON s.id = o.shape
        LEFT JOIN gpu_name n ON n.id = s.name LEFT JOIN copy_kind y ON y.id = o.copy_kind
    UNION ALL SELECT l.minute, l.process, 'line', coalesce(p.file || ':' || p.line, p.function, p.library),
        CAST(round(l.count) AS INTEGER), CAST(round(l.ns * g.ns / nullif(w.ns, 0)) AS INTEGER), l.max_ns, NULL
    FROM line_sum l JOIN place p ON p.id = l.place
        JOIN (SELECT minute, process, sum(ns) AS ns FROM line_sum GROUP BY 1, 2) w
            ON w.minute = l.minute AND w.process = l.process
        JOIN (SELECT o.minute, p.process, sum(o.ns) AS ns FROM op_sum o JOIN gpu_place p ON p.id = o.place GROUP BY 1, 2) g
            ON g.minute = l.minute AND g.process = l.process),
total AS (
    SELECT minute, process, what, name, sum(count) AS count, sum(ns) AS total_ns, max(max_ns) AS max_ns, sum(bytes) AS bytes
    FROM each GROUP BY 1, 2, 3, 4
    UNION ALL SELECT o.minute, o.process, w.name, n.text, o.count, o.total_ns, o.max_ns, o.bytes
    FROM (SELECT * FROM older UNION ALL SELECT m.* FROM stored CROSS JOIN minute_total m) o
        LEFT JOIN minute_what w ON w.id = o.what LEFT JOIN older_name n ON n.id = o.name)
SELECT
    t.minute * 60000000000 AS minute_ns, -- the minute's start, since the session's start
    strftime('%Y-%m-%d %H:%M:%S', ((SELECT value FROM meta WHERE key = 'start_unix_ns') + t.minute * 60000000000) / 1000000000, 'unixepoch') AS utc, -- the same as date and time, UTC
    nullif(t.process, 0) AS process, -- id in processes; NULL: of all together (busy, recorded)
    t.what AS what, -- recorded, busy, idle, stall, call, launch, kernel, graph, copy, set, load, line
    t.name AS name, -- of recorded: calls or gpu; of busy: the device's uuid; idle: the reason; stall: the cause; call: the function; launch, kernel: the kernel, or graph; copy: the direction; load: the kind; line: FILE:LINE; others: of names that were not kept apart
    t.count AS count, -- of those that began in the minute; estimated for line
    t.total_ns AS total_ns, -- total time; recorded, busy, idle: within this minute; others: the whole time of those that began in it; stall: what unexpected ones lost; call, launch: on the host; line: on the GPU, estimated
    t.max_ns AS max_ns, -- longest; NULL: unknown
    t.bytes AS bytes -- together
FROM total t;

CREATE VIEW recording AS -- one period in which the calls of a process, or its GPU side, were recorded, or another profiler had the GPU side
SELECT
    r.process AS process, -- id in processes
    r.start_ns AS start_ns, -- since the session's start; NULL: never recorded, see why
    r.end_ns AS end_ns, -- for gpu: each launch before it is in gpu_ops or in losses; NULL: unknown, or not yet
    r.side AS side, -- calls or gpu
    r.why AS why, -- what ended or limited it: exit, exec, killed, or a sentence; NULL while it continues
    r.gpu AS gpu, -- for gpu: seen; operations (without their calls); other (nothing: another profiler had CUPTI); stopped (nothing: recording was stopped, or has just been started); between (nothing, in traces of an earlier version); NULL: never recorded
    r.profiler AS profiler -- for operations and other: who had CUPTI, such as torch.profiler, or the name of its library; NULL: unknown
FROM (SELECT p.id AS process, c.at_ns AS start_ns, coalesce(c.next_ns, p.end_ns) AS end_ns,
        'calls' AS side, CASE WHEN c.next_ns IS NULL THEN p.ended ELSE 'recording was stopped' END AS why,
        NULL AS gpu, NULL AS profiler
    FROM (SELECT process, number, at_ns,
            lead(at_ns) OVER (PARTITION BY process ORDER BY number) AS next_ns
        FROM (SELECT id AS process, 0 AS number, start_ns AS at_ns FROM process
                WHERE id NOT IN (SELECT process FROM recording_change WHERE number < 0)
            UNION ALL SELECT process, number, at_ns FROM recording_change)) c
        JOIN process p ON p.id = c.process
    WHERE c.number % 2 = 0 AND (c.number > 0 OR c.next_ns IS NULL OR c.next_ns > c.at_ns)
    UNION ALL SELECT p.id, NULL, NULL, 'calls', 'recording was never started', NULL, NULL
    FROM process p JOIN recording_change c ON c.process = p.id
    GROUP BY p.id HAVING max(c.number) = 1 AND max(c.at_ns) <= p.start_ns
    UNION ALL SELECT p.id, g.at_ns,
        coalesce(g.next_ns, CASE WHEN g.gpu IN ('other', 'stopped', 'between') THEN p.end_ns ELSE i.end_ns END), 'gpu',
        CASE g.next WHEN 'seen' THEN CASE g.gpu WHEN 'stopped' THEN 'recording was started'
                WHEN 'between' THEN 'a window began'
                ELSE 'the other profiler has ended' END
            WHEN 'stopped' THEN 'recording was stopped'
            WHEN 'between' THEN 'the window ended'
            WHEN 'operations' THEN 'another profiler has CUPTI''s callbacks'
            WHEN 'other' THEN 'another profiler uses CUPTI'
            ELSE coalesce(p.gpu_why, p.ended) END,
        g.gpu, g.profiler
    FROM (SELECT process, at_ns, gpu, profiler, lead(at_ns) OVER changes AS next_ns,
            lead(gpu) OVER changes AS next
        FROM (SELECT process, at_ns, gpu, profiler FROM gpu_change
            UNION ALL SELECT process, start_ns, 'seen', NULL FROM gpu_interval f
            WHERE NOT EXISTS (SELECT 1 FROM gpu_change c
                WHERE c.process = f.process AND c.at_ns <= f.start_ns))
        WINDOW changes AS (PARTITION BY process ORDER BY at_ns)) g
        JOIN process p ON p.id = g.process AND p.gpu = 'cupti'
        LEFT JOIN gpu_interval i ON i.process = g.process
    UNION ALL SELECT id, NULL, NULL, 'gpu', coalesce(gpu_why, gpu, 'CUDA was not initialised'),
        NULL, NULL
    FROM process WHERE gpu IS NOT 'cupti') r;

CREATE VIEW threads AS -- one thread that called CUDA, or ran host functions
SELECT
    id, -- increases
    process, -- id in processes
    serial, -- increases in each process
    tid, -- the system's number
    name, -- the thread's name
    records -- records in the trace
FROM thread WHERE serial < 1 << 61;

CREATE VIEW devices AS -- one device of one process
SELECT
    d.id AS id, -- increases
    d.process AS process, -- id in processes
    d.device AS device, -- the process's number of it
    d.name AS name, -- as the driver reports it
    d.uuid AS uuid, -- the same in all processes
    CASE WHEN d.cc_major IS NOT NULL THEN d.cc_major || '.' || d.cc_minor END AS compute_capability, -- such as 9.0
    d.multiprocessors AS multiprocessors, -- count
    d.memory_bytes AS memory_bytes, -- in all
    d.clock_khz AS clock_khz, -- highest, of the SMs
    d.memory_clock_khz AS memory_clock_khz, -- highest, of the memory
    p.driver_version AS driver_version -- 13000 is CUDA 13.0
FROM device d LEFT JOIN process p ON p.id = d.process;

CREATE VIEW other_processes AS -- one process outside the session that used one of its devices
SELECT
    o.id AS id, -- increases
    o.uuid AS uuid, -- of the device; as in devices
    o.pid AS pid, -- the system's number; NULL: of another container
    o.name AS name, -- the system's name of it, at most 15 bytes; NULL: unknown
    o.first_ns AS first_ns, -- when it was first seen; about once a second
    o.last_ns AS last_ns, -- when it was last seen
    o.started AS started, -- 1: it came later than the first look at the device
    o.ended AS ended, -- 1: it was gone before the last look
    m.bytes AS memory_bytes -- of the device, at most; NULL: unknown
FROM other_process o LEFT JOIN other_process_memory m ON m.other = o.id;

CREATE VIEW samples AS -- one sample of a device from NVML, every 100 ms
SELECT
    s.id AS id, -- increases
    s.uuid AS uuid, -- of the device
    s.at_ns AS at_ns, -- since the session's start
    s.gpu_percent AS gpu_percent, -- share of the time in which a kernel ran
    s.memory_percent AS memory_percent, -- share of the time in which memory was read or written
    s.memory_used_bytes AS memory_used_bytes, -- by all processes
    s.power_mw AS power_mw, -- milliwatts
    s.sm_clock_mhz AS sm_clock_mhz, -- of the SMs
    s.memory_clock_mhz AS memory_clock_mhz, -- of the memory
    s.temperature_c AS temperature_c, -- degrees Celsius
    g.duration_ns AS gpm_ns, -- time before at_ns that sm_percent to nvlink_rx_mib cover; NULL: no GPM in this sample
    g.sm_tenths / 10.0 AS sm_percent, -- of the SMs had work
    g.occupancy_tenths / 10.0 AS occupancy_percent, -- resident warps, of the most
    g.tensor_tenths / 10.0 AS tensor_percent, -- of the tensor cores' peak
    g.dram_tenths / 10.0 AS dram_percent, -- of the bandwidth of DRAM
    g.fp64_tenths / 10.0 AS fp64_percent, -- of the FP64 units' peak, without tensor cores
    g.fp32_tenths / 10.0 AS fp32_percent, -- of the FP32 units' peak
    g.fp16_tenths / 10.0 AS fp16_percent, -- of the FP16 units' peak
    g.pcie_tenths / 10.0 AS pcie_percent, -- of the speed of the PCIe link, in its fuller direction
    g.pcie_tx_mib AS pcie_tx_mib, -- sent by the device, MiB/s
    g.pcie_rx_mib AS pcie_rx_mib, -- received by it, MiB/s
    g.nvlink_tx_mib AS nvlink_tx_mib, -- sent, MiB/s, all links
    g.nvlink_rx_mib AS nvlink_rx_mib, -- received, MiB/s
    CASE WHEN g.clock_reasons & 132 THEN 'power' WHEN g.clock_reasons & 96 THEN 'heat' WHEN g.clock_reasons & 282 THEN 'limit' END AS slowed_by -- what slows the device down: power, heat, limit (another one, such as clocks that were set); NULL: nothing, or not known
FROM sample s LEFT JOIN sample_gpm g ON g.sample = s.id;

CREATE VIEW jits AS -- one compilation by the driver, or search for compiled code
SELECT
    j.id AS id, -- increases
    j.process AS process, -- id in processes
    j.call AS call, -- id in calls
    CASE j.operation WHEN 1 THEN 'cache load' WHEN 2 THEN 'cache store' WHEN 3 THEN 'compile' END AS operation, -- compile, cache load, cache store
    CASE j.entry WHEN 1 THEN 'ptx to cubin' WHEN 2 THEN 'nvvm to ptx' END AS entry, -- ptx to cubin, nvvm to ptx
    j.start_ns AS start_ns, -- since the session's start
    j.duration_ns AS duration_ns, -- of it
    j.cache_bytes AS cache_bytes, -- size in the cache
    j.device AS device -- the process's number of the device
FROM jit j;

CREATE VIEW overheads AS -- one overhead that CUPTI reports, except its own upkeep
SELECT
    o.id AS id, -- increases
    o.process AS process, -- id in processes
    t.id AS thread, -- id in threads; NULL if CUPTI uses its own thread numbers
    CASE o.kind WHEN 1 THEN 'driver compiler' WHEN 1 << 16 THEN 'buffer flush'
        WHEN 2 << 16 THEN 'instrumentation' WHEN 3 << 16 THEN 'resource'
        WHEN 4 << 16 THEN 'module loading' WHEN 5 << 16 THEN 'lazy function loading'
        WHEN 6 << 16 THEN 'command buffer full' WHEN 7 << 16 THEN 'buffer request'
        ELSE 'kind ' || o.kind END AS kind, -- CUPTI's name; the wait for a busy GPU is in none
    o.start_ns AS start_ns, -- since the session's start
    o.duration_ns AS duration_ns -- of it
FROM overhead o
    LEFT JOIN thread t ON t.process = o.process AND t.tid = o.tid AND t.serial < 1 << 61;

CREATE VIEW losses AS -- one kind of lost record; no row: nothing was lost
SELECT
    process, -- id in processes
    what, -- call, name, load, thread, host function, range, graph node, stack, Python stack, GPU record, GPU operation, record
    nullif(class, '') AS class, -- for calls their class; for GPU records the reason (missing: the launch succeeded); last flush: not fetched from CUPTI
    count -- how many
FROM loss WHERE what NOT IN ('stack', 'native stack') OR class = 'its copy is gone';

CREATE VIEW not_taken AS -- stacks that were not taken, for one reason; these are no losses
SELECT
    process, -- id in processes
    what, -- stack: of calls; native stack: of a thread between its calls
    CASE class WHEN '' THEN 'too many' ELSE class END AS reason, -- no room, no time: beyond the budget; too many; of other threads: too many of these; ptrace refused; has a debugger
    count -- how many
FROM loss WHERE what IN ('stack', 'native stack') AND class <> 'its copy is gone';

CREATE VIEW own_cost AS -- one part of what gpuverify itself cost one process; no row: an earlier version recorded it
WITH run AS (
    SELECT p.id AS process,
        coalesce(t.busiest, 1) AS busiest,
        (SELECT total(total_ns) FROM cost WHERE process = p.id AND what = 'end')
            + coalesce(p.end_ns, max(p.start_ns, coalesce(p.gpu_flushed_ns, 0),
                coalesce((SELECT max(seen_ns) FROM flight WHERE process = p.id), 0),
                coalesce(l.last_ns, 0)))
            - p.start_ns AS run_ns
    FROM process p LEFT JOIN (
        SELECT t.process AS process, max(c.start_ns + c.duration_ns) AS last_ns FROM call c
            JOIN thread t ON t.id = c.thread JOIN process q ON q.id = t.process AND q.end_ns IS NULL
        WHERE EXISTS (SELECT 1 FROM process WHERE end_ns IS NULL) GROUP BY t.process) l ON l.process = p.id
    LEFT JOIN (
        SELECT process, max(records) / nullif(total(records), 0) AS busiest FROM thread
        WHERE serial < 1 << 61 GROUP BY process) t ON t.process = p.id)
SELECT
    c.process AS process, -- id in processes
    c.what AS what, -- hooks, hooks-unrecorded, ranges, stacks, events, cpu-waits, cupti-calls, cupti-buffers, thread, start, end; docs/performance.md explains them
    c.count AS count, -- how often
    c.total_ns AS total_ns, -- together; estimated for hooks, hooks-unrecorded, ranges and cupti-calls
    c.spared AS spared, -- how often it was skipped or put off, because its budget was used up
    CASE WHEN c.what <> 'thread' THEN c.total_ns * CASE WHEN c.what IN ('start', 'end') THEN 1 ELSE r.busiest END
        / nullif((SELECT total(run_ns) FROM run), 0) END AS share -- of the time of all processes, 0 to 1, as docs/performance.md explains; NULL: no thread of the program waits for it
FROM cost c JOIN run r ON r.process = c.process;

-- Summaries read the totals of a finished trace. Without totals they compute the same from each row:
-- "stored" is then 0, and cross joins keep SQLite from reading the rows otherwise. Medians need
-- every name's durations in order: they are counted by duration first, which leaves far fewer to
-- order. What is used twice is computed once without saying MATERIALIZED, which SQLite before 3.35
-- could not read, and with it none of the file.

CREATE VIEW api_summary AS -- all calls with one name
WITH totals AS (
    SELECT count(*) AS stored FROM meta WHERE key = 'totals' AND value >= 16
        AND EXISTS (SELECT 1 FROM meta WHERE key = 'state' AND value = 'complete')),
each AS (
    SELECT api, duration_ns, 0 AS rest_ns, count(*) AS count,
        count(CASE WHEN result <> 0 AND CASE WHEN api IN (SELECT id FROM api WHERE class = 'collective')
            THEN result <> 7 ELSE result NOT IN (4, 600) END THEN 1 END) AS errors
    FROM totals CROSS JOIN call
    WHERE stored = 0 AND (result IS NOT 600 OR id NOT IN (SELECT call FROM call_fold))
    GROUP BY api, duration_ns
    UNION ALL SELECT c.api, c.duration_ns / f.count, c.duration_ns % f.count, f.count, 0
    FROM totals CROSS JOIN call_fold f CROSS JOIN call c ON c.id = f.call WHERE stored = 0),
counted AS (
    SELECT api, duration_ns, total(rest_ns) AS rest_ns, sum(count) AS count,
        sum(errors) AS errors
    FROM each GROUP BY api, duration_ns),
ranked AS (
    SELECT api, duration_ns, count,
        sum(count) OVER (PARTITION BY api ORDER BY duration_ns) AS rank
    FROM counted),
computed AS (
    SELECT api, sum(count) AS count,
        sum(count * duration_ns) + CAST(total(rest_ns) AS INTEGER) AS total_ns,
        min(duration_ns) AS min_ns, max(duration_ns) AS max_ns, sum(errors) AS errors
    FROM counted GROUP BY api),
total AS (
    SELECT t.api, t.count, t.total_ns, t.min_ns, t.median_ns, t.max_ns, t.errors
    FROM totals CROSS JOIN api_total t WHERE stored > 0
    UNION ALL SELECT n.api, n.count, n.total_ns, n.min_ns, r.duration_ns, n.max_ns, n.errors
    FROM ranked r JOIN computed n ON n.api = r.api
    WHERE r.rank >= (n.count + 1) / 2 AND r.rank - r.count < (n.count + 1) / 2)
SELECT
    a.name AS name, -- as in calls
    a.class AS class, -- as in calls
    n.count AS count, -- calls
    n.total_ns AS total_ns, -- time in them
    n.min_ns AS min_ns, -- shortest
    n.median_ns AS median_ns, -- for an even count the lower one
    n.max_ns AS max_ns, -- longest
    n.total_ns * 1.0 / nullif((SELECT sum(total_ns) FROM total), 0) AS share, -- of the time in all calls, 0 to 1
    n.errors AS errors -- results other than 0, 600 (not ready) and 4 (the driver had shut down); of NCCL, other than 0 and 7 (in progress)
FROM total n JOIN api a ON a.id = n.api;

CREATE VIEW scaled AS -- what one kernel, or copies and sets of one function, or graphs did in a run of which some calls were measured (GPUVERIFY_GPU=sampled), estimated; no rows in other traces
SELECT
    CASE t.kind WHEN 1 THEN 'kernel' WHEN 2 THEN 'copy' WHEN 3 THEN 'set' WHEN 4 THEN 'graph' END AS kind, -- as in gpu_ops
    CASE t.kind WHEN 1 THEN coalesce(k.name, '?') WHEN 4 THEN 'graph' ELSE a.name END AS name, -- the kernel's linked name; of copies and sets, the call's
    t.launches AS count, -- calls
    t.samples AS samples, -- of these calls; in a part of a trace: of those of the whole run
    t.total_ns AS total_ns, -- on the GPU, of all; NULL: unknown, because none was measured
    t.error_ns AS error_ns -- standard error of total_ns
FROM sampled_total t LEFT JOIN kernel k ON k.id = t.kernel LEFT JOIN api a ON a.id = t.api;

CREATE VIEW kernel_summary AS -- all kernels with one name
WITH totals AS (
    SELECT count(*) AS stored FROM meta WHERE key = 'totals' AND value >= 16
        AND EXISTS (SELECT 1 FROM meta WHERE key = 'state' AND value = 'complete')),
counted AS (
    SELECT coalesce(n.name, '?') AS key, o.duration_ns AS duration_ns, count(*) AS count
    FROM totals CROSS JOIN gpu_op o
        LEFT JOIN gpu_shape s ON s.id = o.shape
        LEFT JOIN gpu_name n ON n.id = s.name
    WHERE stored = 0 AND o.kind = 1 AND o.duration_ns IS NOT NULL GROUP BY 1, 2),
ranked AS (
    SELECT key, duration_ns, count,
        sum(count) OVER (PARTITION BY key ORDER BY duration_ns) AS rank
    FROM counted),
computed AS (
    SELECT key, sum(count) AS count, sum(count * duration_ns) AS total_ns,
        min(duration_ns) AS min_ns, max(duration_ns) AS max_ns
    FROM counted GROUP BY key),
total AS (
    SELECT coalesce(t.name, '?') AS key, t.count, t.total_ns, t.min_ns, t.median_ns, t.max_ns
    FROM totals CROSS JOIN kernel_total t WHERE stored > 0
    UNION ALL SELECT n.key, n.count, n.total_ns, n.min_ns, r.duration_ns, n.max_ns
    FROM ranked r JOIN computed n ON n.key = r.key
    WHERE r.rank >= (n.count + 1) / 2 AND r.rank - r.count < (n.count + 1) / 2)
SELECT
    n.key AS name, -- as in gpu_ops
    n.count AS count, -- number of runs
    n.total_ns AS total_ns, -- on the GPU
    n.min_ns AS min_ns, -- shortest
    n.median_ns AS median_ns, -- for an even count the lower one
    n.max_ns AS max_ns, -- longest
    n.total_ns * 1.0 / nullif((SELECT sum(total_ns) FROM total), 0) AS share -- of the time of all kernels, 0 to 1
FROM total n;

CREATE VIEW copy_summary AS -- all copies in one direction, or all memory sets
WITH totals AS (
    SELECT count(*) AS stored FROM meta WHERE key = 'totals' AND value >= 16
        AND EXISTS (SELECT 1 FROM meta WHERE key = 'state' AND value = 'complete')),
counted AS (
    SELECT CASE o.kind WHEN 3 THEN -1 ELSE coalesce(o.copy_kind & 15, 0) END AS key,
        o.duration_ns AS duration_ns, count(*) AS count, sum(o.bytes) AS bytes
    FROM totals CROSS JOIN gpu_op o
    WHERE stored = 0 AND o.kind IN (2, 3) AND o.duration_ns IS NOT NULL GROUP BY 1, 2),
ranked AS (
    SELECT key, duration_ns, count,
        sum(count) OVER (PARTITION BY key ORDER BY duration_ns) AS rank
    FROM counted),
computed AS (
    SELECT key, sum(count) AS count, sum(count * duration_ns) AS total_ns,
        min(duration_ns) AS min_ns, max(duration_ns) AS max_ns, sum(bytes) AS bytes
    FROM counted GROUP BY key),
total AS (
    SELECT m.direction AS key, sum(t.count) AS count, sum(t.total_ns) AS total_ns,
        min(t.min_ns) AS min_ns, m.median_ns, max(t.max_ns) AS max_ns, sum(t.bytes) AS bytes
    FROM totals CROSS JOIN copy_median m JOIN copy_total t
        ON CASE WHEN t.copy_kind < 0 THEN t.copy_kind ELSE t.copy_kind & 15 END = m.direction
    WHERE stored > 0 GROUP BY m.direction
    UNION ALL SELECT n.key, n.count, n.total_ns, n.min_ns, r.duration_ns, n.max_ns, n.bytes
    FROM ranked r JOIN computed n ON n.key = r.key
    WHERE r.rank >= (n.count + 1) / 2 AND r.rank - r.count < (n.count + 1) / 2)
SELECT
    CASE n.key WHEN -1 THEN 'memset' ELSE coalesce(y.name, 'copy') END AS name, -- as in gpu_ops
    n.count AS count, -- copies or sets
    n.total_ns AS total_ns, -- on the GPU
    n.min_ns AS min_ns, -- shortest
    n.median_ns AS median_ns, -- for an even count the lower one
    n.max_ns AS max_ns, -- longest
    n.total_ns * 1.0 / nullif((SELECT sum(total_ns) FROM total), 0) AS share, -- of the time of all copies and sets, 0 to 1
    n.bytes AS bytes -- in all
FROM total n LEFT JOIN copy_kind y ON y.id = n.key;
