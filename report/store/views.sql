-- The views of a trace, which are the contract with everybody who reads one.
--
-- The comments are part of it: SQLite keeps them with the view, and `gpuverify schema` prints them.
-- The first one, after AS, describes a row; the one after each column describes the column. All joins
-- are left joins, because SQLite drops those whose columns nobody needs.

CREATE VIEW calls AS -- one outermost CUDA call; quick questions have no row: docs/apis.md
SELECT
    c.id AS id, -- increases; within a thread in the order of the calls
    t.process AS process, -- processes.id
    c.thread AS thread, -- threads.id
    a.name AS name, -- exported symbol, such as cuLaunchKernel_ptsz
    a.class AS class, -- init, context, ask, load, unload, function, launch, copy, set, sync, alloc, free, stream, event, graph, collective
    c.start_ns AS start_ns, -- since session start
    c.duration_ns AS duration_ns, -- from call to return; the sum if count is above 1
    c.result AS result, -- as returned; NULL: a C++ exception left the call
    coalesce(c.context, s.context) AS context, -- contexts.id
    c.stream AS stream, -- streams.id
    c.bytes AS bytes, -- moved or requested; or the release threshold set for a memory pool (at most 1 << 48)
    k.name AS kernel, -- launched kernel, or the one whose function the call returned
    coalesce(k.module, m.module) AS module, -- loaded or unloaded, or the kernel's; modules.id
    c.correlation AS correlation, -- CUPTI's number of the call, or the number of its sample
    cs.stack AS stack, -- frames.stack; docs/stacks.md says which calls have one
    c.object AS object, -- pointer or handle that the call made or used
    c.kernel AS kernel_id, -- kernels.id
    coalesce(f.count, 1) AS count, -- calls in this row: consecutive polls that return "not ready" (600) share one
    coalesce(f.span_ns, c.duration_ns) AS span_ns, -- from the first call's start to the last one's end
    a.kind AS call_kind, -- kind within the class, such as copy-async: docs/apis.md
    CASE WHEN cs.stack IS NOT NULL THEN oc.call IS NULL END AS own_stack, -- 1: this call's own; 0: that of an earlier call of the same site; NULL: no stack
    (SELECT range FROM call_range WHERE thread = c.thread AND call <= c.id ORDER BY call DESC LIMIT 1) AS range -- innermost range of its thread; ranges.id
FROM call c
    LEFT JOIN thread t ON t.id = c.thread
    LEFT JOIN api a ON a.id = c.api
    LEFT JOIN stream s ON s.id = c.stream
    LEFT JOIN kernel k ON k.id = c.kernel
    LEFT JOIN call_module m ON m.call = c.id
    LEFT JOIN call_stack cs ON cs.call = c.id
    LEFT JOIN call_stack_of_other oc ON oc.call = c.id
    LEFT JOIN call_fold f ON f.call = c.id;

CREATE VIEW gpu_ops AS -- one kernel, copy, memory set or graph on a GPU
SELECT
    o.id AS id, -- increases
    CASE o.kind WHEN 1 THEN 'kernel' WHEN 2 THEN 'copy' WHEN 3 THEN 'set' WHEN 4 THEN 'graph' END AS kind, -- kernel, copy, set, graph (a whole one, unless GPUVERIFY_GRAPHS=nodes)
    CASE o.kind WHEN 1 THEN n.name WHEN 2 THEN coalesce(y.name, 'copy') WHEN 3 THEN 'memset' WHEN 4 THEN 'graph' END AS name, -- the kernel's name as in C++, or the copy's direction
    p.process AS process, -- processes.id
    p.device AS device, -- devices.device
    coalesce(c.context, st.context) AS context, -- contexts.id
    CASE WHEN o.graph_node IS NULL THEN c.stream END AS stream, -- streams.id
    o.start_ns AS start_ns, -- on the GPU, by the clock of the calls
    o.duration_ns AS duration_ns, -- on the GPU
    o.bytes AS bytes, -- of a copy or set
    o.call AS call, -- that started it; calls.id
    s.grid_x AS grid_x, -- blocks
    s.grid_y AS grid_y, -- blocks
    s.grid_z AS grid_z, -- blocks
    s.block_x AS block_x, -- threads
    s.block_y AS block_y, -- threads
    s.block_z AS block_z, -- threads
    s.registers AS registers, -- of one thread
    s.static_shared_bytes + s.dynamic_shared_bytes AS shared_bytes, -- of one block
    s.local_bytes AS local_bytes, -- of one thread
    s.static_shared_bytes AS static_shared_bytes, -- of these, declared in the kernel
    s.dynamic_shared_bytes AS dynamic_shared_bytes, -- of these, requested by the launch
    n.linkage AS linkage_name, -- the kernel's linked name
    o.graph_node AS graph_node, -- the node of a graph, if recorded by node
    p.context AS cupti_context, -- CUPTI's number of the context
    p.stream AS cupti_stream, -- CUPTI's number; tells streams apart where stream is NULL
    CASE o.copy_kind >> 4 WHEN 1 THEN 'pageable' WHEN 2 THEN 'pinned' WHEN 5 THEN 'managed' WHEN 7 THEN 'managed' END AS host_memory, -- of a copy: pageable, pinned, managed
    gn.stack AS node_stack -- of the call that added the node; frames.stack
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
    l.call AS call, -- outermost call around it; calls.id; NULL: it never returned, or was a question about a function that left no row (docs/apis.md)
    l.kind AS kind, -- cubin, ptx, fatbin, image, file, library, link (input of a linker), lazy (the call itself loads nothing)
    l.name AS name, -- the file, linker input or lazily loaded kernel
    l.bytes AS bytes, -- of the image
    CASE WHEN l.hash IS NOT NULL THEN printf('%016x', l.hash) END AS hash, -- of size and samples of the image
    l.start_ns AS start_ns, -- since session start
    l.duration_ns AS duration_ns, -- of a lazy load: the whole call's
    CASE WHEN p.gpu = 'cupti' THEN coalesce((SELECT sum(j.duration_ns) FROM jit j
        WHERE j.process = p.id AND j.start_ns >= l.start_ns
            AND j.start_ns <= l.start_ns + l.duration_ns
            AND (j.call = l.call OR j.call IS NULL OR l.call IS NULL)),
        CASE WHEN l.kind = 'cubin' OR coalesce(p.ended, 'killed') <> 'killed' AND NOT EXISTS
            (SELECT 1 FROM loss WHERE process = p.id AND what LIKE 'GPU %' AND count > 0)
        THEN 0 END) END AS jit_ns, -- compiling, or finding compiled code in the cache
    w.wait_ns AS wait_ns, -- waiting for an idle GPU
    w.gpu_busy AS gpu_busy, -- 1: the GPU was busy when it began
    l.result AS result, -- 0, or the driver's error
    l.image AS image, -- cubin, ptx, fatbin
    l.module AS module, -- result; modules.id; NULL: it failed
    t.process AS process, -- processes.id
    l.thread AS thread, -- threads.id
    a.name AS function, -- name of the loading call
    l.handle AS handle, -- of the module or library
    NULL AS kernel, -- whose first use loaded it lazily
    l.library AS library -- program or library that contains the image
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

CREATE VIEW host_functions AS -- one function that a stream ran on the CPU: cudaLaunchHostFunc, stream callbacks
SELECT
    h.id AS id, -- increases
    h.process AS process, -- processes.id
    h.call AS call, -- that put it into its stream; calls.id
    coalesce(c.context, s.context) AS context, -- contexts.id
    c.stream AS stream, -- streams.id
    h.start_ns AS start_ns, -- since session start; NULL: not known to have run
    h.duration_ns AS duration_ns, -- of it
    f.function AS name, -- as in C++; NULL for Python and the CUDA runtime
    f.library AS library, -- with the code
    f.file AS file, -- source file
    f.line AS line, -- its first line
    h.thread AS thread -- the driver's thread; threads.id
FROM host_function h
    LEFT JOIN call c ON c.id = h.call
    LEFT JOIN stream s ON s.id = c.stream
    LEFT JOIN stack k ON k.process = h.process AND k.number = h.stack
    LEFT JOIN frame f ON f.stack = k.id AND f.kind <> 'runtime'
        AND f.depth = (SELECT max(depth) FROM frame WHERE stack = k.id); -- not what is inlined at its start

CREATE VIEW ranges AS -- one range or mark of the program: NVTX, gpuverify.h
SELECT
    r.id AS id, -- increases; within a thread in the order of the starts
    t.process AS process, -- processes.id
    r.thread AS thread, -- that began it; threads.id
    CASE r.kind WHEN 1 THEN 'push' WHEN 2 THEN 'start' WHEN 3 THEN 'mark' END AS kind, -- push (its thread pops it), start (any thread ends it), mark (a moment)
    d.text AS domain, -- NVTX's; NULL: the default one
    m.text AS message, -- the program's text; NULL: none, or lost
    r.category AS category, -- NVTX's number; NULL: none
    c.text AS category_name, -- the program's name of it
    CASE WHEN r.color IS NOT NULL THEN printf('#%06x', r.color & 0xffffff) END AS color, -- red, green, blue; NULL: none
    r.payload AS payload, -- the program's number; NULL: none
    r.start_ns AS start_ns, -- since session start
    r.duration_ns AS duration_ns, -- NULL: no end; of a mark 0
    r.depth AS depth, -- of a push: how many ranges are around it
    r.parent AS parent -- innermost of these; ranges.id
FROM range r
    LEFT JOIN thread t ON t.id = r.thread
    LEFT JOIN range_text d ON d.id = r.domain
    LEFT JOIN range_text m ON m.id = r.text
    LEFT JOIN range_text c ON c.id = r.category_name;

CREATE VIEW range_summary AS -- all ranges or marks with one name, and the calls in them
SELECT
    CASE r.kind WHEN 1 THEN 'push' WHEN 2 THEN 'start' WHEN 3 THEN 'mark' END AS kind, -- ranges.kind
    r.domain AS domain, -- ranges.domain
    r.text AS message, -- ranges.message; # stands for numbers in which many texts differ
    r.count AS count, -- ranges or marks
    r.unended AS unended, -- of these, without an end; times leave them out
    r.total_ns AS total_ns, -- sum
    r.min_ns AS min_ns, -- shortest
    r.median_ns AS median_ns, -- lower one of two
    r.max_ns AS max_ns, -- longest
    r.calls AS calls, -- calls in them: docs/ranges.md
    r.launches AS launches, -- calls with work for the GPU
    r.gpu_ns AS gpu_ns, -- time of that work
    r.stalls AS stalls, -- unexpected ones of these calls
    r.stall_ns AS stall_ns, -- lost in these
    r.max_stall_ns AS max_stall_ns, -- the most that one lost
    r.idle_ns AS idle_ns, -- part of total_ns without work on any device of the process
    r.loads AS loads, -- of code by these calls
    r.load_ns AS load_ns, -- time of these
    r.allocations AS allocations, -- of device memory
    r.allocated_bytes AS allocated_bytes -- in these
FROM range_total r;

CREATE VIEW steps AS -- one step of the program: a range, mark or pattern of launches that repeats
SELECT
    s.series AS series, -- one number for the steps of a thread
    s.number AS number, -- in its series, from 1
    e.process AS process, -- processes.id
    e.thread AS thread, -- that did it; threads.id
    e.source AS source, -- what repeats: range, mark, launches
    e.domain AS domain, -- ranges.domain
    e.message AS message, -- range_summary.message
    s.kind AS kind, -- the same for steps that launch alike
    s.warmup AS warmup, -- 1: one of the first, which took longer than others of its kind, or set up the loop
    s.start_ns AS start_ns, -- since session start
    s.duration_ns AS duration_ns, -- until its end, or the next step
    s.calls AS calls, -- of the process in its time; with several series, of the thread
    s.launches AS launches, -- range_summary.launches
    s.gpu_ns AS gpu_ns, -- range_summary.gpu_ns
    s.stalls AS stalls, -- range_summary.stalls
    s.stall_ns AS stall_ns, -- range_summary.stall_ns
    s.max_stall_ns AS max_stall_ns, -- range_summary.max_stall_ns
    s.idle_ns AS idle_ns, -- part of duration_ns without work on any device of the process
    s.loads AS loads, -- range_summary.loads
    s.load_ns AS load_ns, -- range_summary.load_ns
    s.allocations AS allocations, -- range_summary.allocations
    s.allocated_bytes AS allocated_bytes -- range_summary.allocated_bytes
FROM step s LEFT JOIN step_series e ON e.id = s.series;

CREATE VIEW stalls AS -- one call that lost time, and why
SELECT
    x.id AS id, -- increases by start; s15 in the commands
    x.call AS call, -- calls.id
    x.cause AS cause, -- docs/stalls.md
    x.expected AS expected, -- 1: the program asked to wait (explicit-sync)
    c.start_ns AS start_ns, -- calls.start_ns
    c.duration_ns AS duration_ns, -- wait_ns + work_ns + jit_ns
    x.wait_ns AS wait_ns, -- waiting: for the GPU, another thread's call, or something unknown
    x.work_ns AS work_ns, -- the call's own work
    x.jit_ns AS jit_ns, -- compiling
    x.waited_for AS waited_for, -- last operation that had to finish; gpu_ops.id
    x.blocked_by AS blocked_by, -- call that blocked it; calls.id
    x.confidence AS confidence, -- measured: with the GPU side, by the Linux kernel or the end of a host function; inferred: from calls alone
    v.text AS advice, -- what to do
    x.drained_count AS drained_count, -- operations that had to finish
    x.drained_ns AS drained_ns, -- from the first one's start to the last one's end
    t.process AS process, -- processes.id
    c.thread AS thread, -- threads.id
    a.name AS name, -- calls.name
    k.name AS kernel, -- calls.kernel
    cs.stack AS stack, -- frames.stack
    x.presumed AS presumed, -- inferred only: last call whose work may not have finished; calls.id
    d.delay_ns AS delay_ns, -- waiting for a CPU, at least
    coalesce(op.pid, os.pid) AS other_pid, -- other-process only: its id
    coalesce(op.name, os.program) AS other_name, -- its name
    ox.did AS other_did, -- call (blocked_by), start, end, use (of the GPU)
    h.host_function AS host_function, -- that most of the wait was for; host_functions.id
    CASE WHEN cs.stack IS NOT NULL THEN oc.call IS NULL END AS own_stack -- calls.own_stack
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

CREATE VIEW older_stalls AS -- one stall of time kept as sums by minute (GPUVERIFY_KEEP): the newest and the longest
SELECT
    o.id AS id, -- increases
    o.start_ns AS start_ns, -- calls.start_ns
    o.duration_ns AS duration_ns, -- wait_ns + work_ns + jit_ns
    o.cause AS cause, -- stalls.cause; none that the program asked for
    o.wait_ns AS wait_ns, -- stalls.wait_ns
    o.work_ns AS work_ns, -- stalls.work_ns
    o.jit_ns AS jit_ns, -- stalls.jit_ns
    o.confidence AS confidence, -- stalls.confidence
    o.process AS process, -- processes.id
    o.thread AS thread, -- threads.id
    a.name AS name, -- calls.name
    k.name AS kernel, -- calls.kernel
    o.stack AS stack, -- frames.stack
    o.advice AS advice -- what to do
FROM older_stall o
    LEFT JOIN api a ON a.id = o.api
    LEFT JOIN kernel k ON k.id = o.kernel;

CREATE VIEW idle AS -- time in which a device had no work of a process, for one reason at one line; or all short ones of a reason and line
SELECT
    id AS id, -- i3 in the commands
    process AS process, -- processes.id
    device AS device, -- gpu_ops.device
    thread AS thread, -- whose time it was; threads.id
    start_ns AS start_ns, -- of the longest
    duration_ns AS duration_ns, -- sum
    gap AS gap, -- the same in all parts of one idle time; NULL: several idle times
    gap_ns AS gap_ns, -- of that whole idle time: parts below 2 % of it have no own rows; NULL: several
    is_inner AS is_inner, -- 1: between two operations of the device; 0: before the first, after the last, or several
    gaps AS gaps, -- parts of idle times in the row
    reason AS reason, -- an account (docs/ledger.md), or the cause of a stall
    detail AS detail, -- function, file, child's command, thread with the GIL, ...
    samples AS samples, -- looks at the thread in this time
    stack AS stack, -- frames.stack
    confidence AS confidence, -- measured: from calls and GPU records; sampled: from looks in this time; grouped: from looks in similar times; inferred: without looks or GPU side
    previous_call AS previous_call, -- that gave the device work before; calls.id; NULL: none, or several idle times
    next_call AS next_call -- that gave the device work next; calls.id; NULL: none, or several idle times
FROM idle_time;

CREATE VIEW ledger AS -- where the time of each device of each process went; the rows add up to the run
SELECT
    l.process AS process, -- processes.id
    l.device AS device, -- gpu_ops.device
    CASE l.phase WHEN 0 THEN 'start' WHEN 1 THEN 'main' ELSE 'end' END AS phase, -- start (until the steps, or the first work), main, end (after the last)
    l.what AS what, -- account: docs/ledger.md
    p.file AS file, -- of the program's own line
    p.line AS line, -- in it
    p.function AS function, -- frames.function
    c.file AS claimed_by_file, -- of the line whose wait for the GPU made it idle: overlapping saves this time
    c.line AS claimed_by_line, -- in it
    CASE WHEN l.claimed IS NOT NULL THEN coalesce(c.function, '?') END AS claimed_by_function, -- NULL: nobody claims it
    l.total_ns AS total_ns, -- sum
    l.count AS count, -- pieces
    l.error_ns AS error_ns, -- standard error
    l.first_half_ns AS first_half_ns, -- in the phase's first half
    l.total_ns - l.first_half_ns AS second_half_ns, -- in its second half
    l.confidence AS confidence, -- measured; sampled: split by looks, stacks of calls or GPU samples; inferred: from calls alone
    l.detail AS detail -- idle.detail
FROM ledger_row l LEFT JOIN place p ON p.id = l.place LEFT JOIN place c ON c.id = l.claimed;

CREATE VIEW ledger_minutes AS -- the ledger by minute, including older time kept as sums (GPUVERIFY_KEEP)
SELECT
    l.minute AS minute, -- since session start
    l.process AS process, -- processes.id
    l.device AS device, -- ledger.device
    CASE l.phase WHEN 0 THEN 'start' WHEN 1 THEN 'main' ELSE 'end' END AS phase, -- ledger.phase; always main for older time
    l.what AS what, -- ledger.what; the largest rows of a minute have lines, the rest is by account
    l.file AS file, -- ledger.file
    l.line AS line, -- ledger.line
    l.function AS function, -- ledger.function
    l.claimed_file AS claimed_by_file, -- ledger.claimed_by_file
    l.claimed_line AS claimed_by_line, -- ledger.claimed_by_line
    l.claimed_function AS claimed_by_function, -- ledger.claimed_by_function
    l.total_ns AS total_ns, -- in this minute
    l.count AS count, -- pieces
    l.error_ns AS error_ns, -- standard error
    l.first_half_ns AS first_half_ns, -- in the minute's first half
    l.total_ns - l.first_half_ns AS second_half_ns, -- in its second half
    l.confidence AS confidence, -- ledger.confidence
    NULL AS detail -- not kept
FROM (SELECT minute, process, device, 1 AS phase, what, file, line, function, claimed_file, claimed_line, claimed_function,
        total_ns, count, error_ns, first_half_ns, confidence FROM older_ledger
    UNION ALL SELECT m.minute, m.process, m.device, m.phase, m.what, p.file, p.line, p.function, c.file, c.line,
        CASE WHEN m.claimed IS NOT NULL THEN coalesce(c.function, '?') END,
        m.total_ns, m.count, m.error_ns, m.first_half_ns, m.confidence
    FROM ledger_minute m LEFT JOIN place p ON p.id = m.place LEFT JOIN place c ON c.id = m.claimed) l;

CREATE VIEW findings AS -- one possible saving, largest first
SELECT
    f.id AS id, -- f1 is 1 in the commands
    f.key AS key, -- the same from run to run
    f.process AS process, -- processes.id
    f.device AS device, -- ledger.device
    CASE f.phase WHEN 0 THEN 'start' WHEN 1 THEN 'main' ELSE 'end' END AS phase, -- ledger.phase
    f.what AS what, -- an account, or a word of findings: docs/ledger.md
    p.file AS file, -- of the line to look at
    p.line AS line, -- in it
    p.function AS function, -- ledger.function
    f.lost_ns AS lost_ns, -- in the phase
    f.saves_ns AS saves_ns, -- at most, with what waits claim of the same work; NULL: nothing by itself
    f.lost_ns * 1.0 / nullif(f.phase_ns, 0) AS share, -- lost_ns of the phase without not-seen and no-request, 0 to 1
    f.error_ns AS error_ns, -- standard error
    f.count AS count, -- pieces of time
    f.steps AS steps, -- of the phase; 0: none
    f.confidence AS confidence, -- ledger.confidence
    f.title AS title, -- what and where, in words
    f.fix AS fix, -- what to change
    f.afterwards AS "then", -- what limits afterwards
    f.stall AS stall, -- example; stalls.id
    f.idle AS idle, -- example; idle.id
    f.times AS times -- idle times that made up most of it; NULL: part of each step, or no steps
FROM finding f LEFT JOIN place p ON p.id = f.place;

CREATE VIEW gpu_use AS -- what limited a device while a process kept it busy, by GPM samples; no row: no GPM
SELECT
    process AS process, -- processes.id
    nullif(device, -1) AS device, -- the process's number; NULL: only calls were recorded, and the device's utilisation says when it was busy
    CASE phase WHEN 0 THEN 'start' WHEN 1 THEN 'main' WHEN 2 THEN 'end' ELSE 'run' END AS phase, -- ledger.phase; run: all
    samples AS samples, -- in which the process kept the device busy for two thirds of the time or more
    busy_ns AS busy_ns, -- of these
    words AS words, -- what limited it; NULL: under 3 samples
    sm_tenths / 10.0 AS sm_percent, -- samples.sm_percent, busy time only
    occupancy_tenths / 10.0 AS occupancy_percent, -- likewise
    tensor_tenths / 10.0 AS tensor_percent, -- likewise
    dram_tenths / 10.0 AS dram_percent, -- likewise
    fp64_tenths / 10.0 AS fp64_percent, -- likewise
    fp32_tenths / 10.0 AS fp32_percent, -- likewise
    fp16_tenths / 10.0 AS fp16_percent, -- likewise
    pcie_tenths / 10.0 AS pcie_percent -- likewise
FROM lane_use;

CREATE VIEW facts AS -- what else is true of the run
SELECT
    process AS process, -- processes.id; NULL: several
    name AS name, -- out of memory, memory full, no CUDA, no kernel, launch-blocking, unfinished, memory grows, late rank, accelerated
    detail AS detail -- in words
FROM run_fact;

CREATE VIEW gpu_lines AS -- one line of the program that used the GPU's time
SELECT
    p.file AS file, -- source file
    p.line AS line, -- in it
    p.function AS function, -- as in C++ or Python; of a library if no own line is known
    l.gpu_ns AS gpu_ns, -- its kernels, copies, sets and graphs
    l.gpu_ns * 1.0 / nullif((SELECT sum(gpu_ns) FROM gpu_line), 0) AS share, -- of all such time, 0 to 1
    l.error_ns * 1.0 / nullif((SELECT sum(gpu_ns) FROM gpu_line), 0) AS error, -- standard error of share; 0: exact
    l.launches AS launches, -- calls with work for the GPU, estimated
    l.samples AS samples, -- of these, calls with their own stack
    l.queued_ns AS queued_ns, -- from the start of these to the start of their work
    l.idle_ns AS idle_ns, -- of the device before that work
    p.library AS library, -- with the code
    c.file AS captured_file, -- of graphs: where they were captured
    c.line AS captured_line -- in it
FROM gpu_line l
    LEFT JOIN place p ON p.id = l.place
    LEFT JOIN place c ON c.id = l.capture;

CREATE VIEW memory_lines AS -- one line of the program that allocated memory with one call
SELECT
    p.file AS file, -- source file
    p.line AS line, -- in it; NULL: no stack, as below 1 MB
    p.function AS function, -- gpu_lines.function
    a.name AS name, -- calls.name
    m.space AS space, -- device, host (pinned), managed
    m.allocations AS allocations, -- calls that succeeded
    m.allocated_bytes AS allocated_bytes, -- in these
    m.freed AS freed, -- of these
    m.largest_bytes AS largest_bytes, -- largest allocation
    m.peak_bytes AS peak_bytes, -- most held at once
    m.at_peak_bytes AS at_peak_bytes, -- held when its device held most; of host memory: when most was pinned
    m.left_bytes AS left_bytes, -- never freed
    m.life_ns AS life_ns, -- median time until freed; NULL: none was
    m.allocated_bytes * 1.0 / nullif(m.peak_bytes, 0) AS churn, -- allocated_bytes / peak_bytes; 1: allocated once
    m.time_ns AS time_ns, -- in calls that allocated and freed
    p.library AS library -- with the code
FROM memory_line m
    LEFT JOIN place p ON p.id = m.place
    LEFT JOIN api a ON a.id = m.api;

CREATE VIEW memory_peak AS -- one holder of a device's memory when most of it was allocated
SELECT
    t.at_ns AS at_ns, -- that time
    t.number AS number, -- the device's, the same for all processes
    d.device AS device, -- devices.device
    d.uuid AS uuid, -- devices.uuid
    h.what AS what, -- allocated; outside: contexts, code, local memory, pools, libraries' own memory; other processes
    h.process AS process, -- processes.id
    p.file AS file, -- of the line that allocated
    p.line AS line, -- memory_lines.line
    p.function AS function, -- gpu_lines.function
    a.name AS name, -- memory_lines.name
    m.space AS space, -- device, managed
    h.blocks AS blocks, -- allocations
    h.bytes AS bytes, -- in these
    h.bytes * 1.0 / nullif(d.memory_bytes, 0) AS share, -- of the device's memory, 0 to 1
    p.library AS library -- with the code
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
    f.stack AS stack, -- calls.stack
    f.depth AS depth, -- 0: innermost; numbers may be missing
    f.kind AS kind, -- native, python, runtime (CUDA's or the C++ library's code)
    f.function AS function, -- as in C++ or Python
    f.library AS library, -- with the code
    f.file AS file, -- source file
    f.line AS line, -- in it
    f.address AS address -- program counter, in the library; NULL: Python, or inlined into the next frame
FROM frame f;

CREATE VIEW in_flight AS -- one call that had not returned at its process's end, or when the watchdog looked
SELECT
    f.process AS process, -- processes.id
    t.id AS thread, -- threads.id
    f.tid AS tid, -- threads.tid
    f.name AS thread_name, -- threads.name
    a.name AS name, -- calls.name
    a.class AS class, -- calls.class
    f.start_ns AS start_ns, -- since session start
    k.name AS kernel, -- calls.kernel
    f.stream_handle AS stream_handle, -- streams.handle
    f.seen_ns - f.start_ns AS elapsed_ns, -- in the call, when last seen
    f.cause AS cause, -- stalls.cause, if known
    f.waited_for AS waited_for, -- gpu_ops.id; NULL: not ended
    f.blocked_by_thread AS blocked_by_thread, -- threads.id
    f.confidence AS confidence, -- stalls.confidence
    f.advice AS advice, -- what to do, if known
    f.state AS state -- what it waits for
FROM flight f
    LEFT JOIN api a ON a.id = f.api
    LEFT JOIN kernel k ON k.id = f.kernel
    LEFT JOIN thread t ON t.process = f.process AND t.serial = f.thread_serial;

CREATE VIEW lost_captures AS -- one capture of a graph that was lost
SELECT
    l.begin_call AS begin_call, -- that began it; calls.id
    l.call AS call, -- first failed call in it, of any thread; calls.id; NULL: not recorded
    l.end_call AS end_call, -- that ended it; calls.id; NULL: none
    t.process AS process, -- processes.id
    b.thread AS thread, -- that began it; threads.id
    b.start_ns AS start_ns, -- of the capture
    ba.name AS begin_name, -- of begin_call
    bs.stack AS begin_stack, -- frames.stack
    c.thread AS call_thread, -- of call; threads.id
    ca.name AS name, -- of call
    c.result AS result, -- of call, such as 900: not allowed in a capture
    cs.stack AS stack, -- of call; frames.stack
    ea.name AS end_name, -- of end_call
    e.result AS end_result, -- 901: lost before; 904: a stream was not joined back
    es.stack AS end_stack, -- frames.stack
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

CREATE VIEW kernels AS -- one kernel whose handle the program got
SELECT
    k.id AS id, -- increases; a handle used again after an unload is another kernel
    k.process AS process, -- processes.id
    k.name AS name, -- NULL if unknown
    k.module AS module, -- modules.id
    k.handle AS handle, -- the program's value
    k.named_ns AS named_ns, -- when it got its name
    k.number AS number -- increases per process
FROM kernel k;

CREATE VIEW modules AS -- one module or library of code
SELECT
    m.id AS id, -- increases
    m.process AS process, -- processes.id
    m.number AS number, -- increases per process
    m.unloaded_ns AS unloaded_ns -- NULL: never unloaded
FROM module m;

CREATE VIEW streams AS -- one stream
SELECT
    s.id AS id, -- increases
    s.process AS process, -- processes.id
    s.context AS context, -- contexts.id
    s.thread AS thread, -- the owner of a per-thread default stream; threads.id
    s.handle AS handle, -- the program's value
    s.kind AS kind -- legacy default, per-thread default, created
FROM stream s;

CREATE VIEW contexts AS -- one context
SELECT
    c.id AS id, -- increases
    c.process AS process, -- processes.id
    c.handle AS handle, -- the program's value
    d.device AS device -- devices.device
FROM context c LEFT JOIN context_device d ON d.context = c.id;

CREATE VIEW processes AS -- one process that used CUDA
SELECT
    p.id AS id, -- increases
    p.pid AS pid, -- system's number
    p.parent_pid AS parent_pid, -- of the parent process
    p.program AS program, -- such as train for python train.py
    p.executable AS executable, -- its file
    p.arguments AS arguments, -- quoted for a shell
    p.directory AS directory, -- its working directory
    p.forked AS forked, -- 1: a fork without exec
    p.start_ns AS start_ns, -- of recording
    p.end_ns AS end_ns, -- when it ended
    p.ended AS ended, -- exit, exec (became another program), killed (by a signal or crash); NULL: still runs
    p.exit_code AS exit_code, -- as given to exit()
    p.driver_version AS driver_version, -- 13000 is CUDA 13.0
    p.gpu AS gpu, -- the GPU side: cupti (recorded), sampled (times of some calls), host-only (not recorded), off (not wanted)
    p.gpu_why AS gpu_why, -- reason, and what to do
    p.cupti_version AS cupti_version, -- CUPTI's number
    p.cupti_library AS cupti_library, -- the library in use
    p.exit_signal AS exit_signal, -- that killed it, if sent by itself or seen by gpuverify run
    r.rank AS rank, -- in its job, by the launcher: docs/jobs.md
    r.local_rank AS local_rank, -- on this host
    r.world_size AS world_size, -- processes of the job
    r.job AS job, -- the launcher's or scheduler's id
    r.host AS host, -- machine's name, or the container's
    r.container AS container -- its id, image or name
FROM process p LEFT JOIN process_rank r ON r.process = p.id;

CREATE VIEW collectives AS -- one collective operation over all ranks, without sends and receives: docs/jobs.md
SELECT
    g.id AS id, -- increases by first arrival
    printf('%016x', g.communicator) AS communicator, -- the same on all ranks
    g.sequence AS sequence, -- n-th of its communicator, from 0; of a graph: of its first collective
    nullif(g.replay, 0) AS replay, -- n-th launch of its graph; NULL: not captured
    g.kind AS kind, -- all-reduce, all-gather, reduce-scatter, broadcast, ...; graph: launch of a graph with collectives
    g.bytes AS bytes, -- of one rank, at most
    g.ranks AS ranks, -- seen in it
    g.first_ns AS first_ns, -- first arrival: the kernel began; without a GPU side: the call
    g.last_ns AS last_ns, -- last arrival
    coalesce(r.rank, k.rank) AS late_rank, -- that arrived last
    t.process AS late_process, -- processes.id
    g.wait_ns AS wait_ns, -- of the others for it, on average
    g.end_ns - g.last_ns AS move_ns, -- from the last arrival to the end
    g.end_ns AS end_ns, -- of the last one
    g.reason AS reason, -- why it came last: cause of a stall, reason of idle, gpu-work (busy GPU); NULL: under 0.1 ms
    g.detail AS detail, -- idle.detail; of a stall: the call
    g.stall AS stall, -- that it was; stalls.id
    g.idle AS idle, -- that it was; idle.id
    g.stack AS stack, -- frames.stack
    k.call AS late_call -- of late_rank; calls.id
FROM collective_group g
    LEFT JOIN collective k ON k.id = g.late
    LEFT JOIN call c ON c.id = k.call
    LEFT JOIN thread t ON t.id = c.thread
    LEFT JOIN process_rank r ON r.process = t.process;

CREATE VIEW ranks AS -- one rank of a job
SELECT
    r.rank AS rank, -- in its job
    r.process AS process, -- processes.id
    r.host AS host, -- processes.host
    p.end_ns - p.start_ns AS run_ns, -- from the process's start to its end
    CASE WHEN p.gpu = 'cupti' AND r.process NOT IN (SELECT process FROM gpu_change)
        THEN max(0, p.end_ns - p.start_ns - i.device_ns) END AS busy_ns, -- of its device, of several on average
    i.device_ns AS idle_ns, -- of its device, of several on average
    coalesce(s.stalls, 0) AS stalls, -- unexpected stalls
    coalesce(s.lost_ns, 0) AS stall_ns, -- lost in these
    m.collectives AS collectives, -- in which it took part; NULL: none known
    m.waited_ns AS waited_ns, -- in them, for the last rank
    l.late AS late, -- collectives to which it came last by 0.1 ms or more
    l.late_ns AS late_ns -- wait of the others for it, on average
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

CREATE VIEW clocks AS -- how gpuverify merge moved one clock's times; empty in other traces
SELECT
    c.id AS id, -- 1: the reference
    c.trace AS trace, -- file
    c.host AS host, -- its machine
    c.method AS method, -- reference, collectives (shared by the traces), same machine, wall clock (as set)
    c.offset_ns AS offset_ns, -- behind the Unix time of the first one at the trace's start; negative: ahead
    c.drift_ppb / 1e3 AS drift_ppm, -- millionths by which it was slower
    c.error_ns AS error_ns, -- at most
    c.matched AS matched -- collectives used
FROM clock c;

CREATE VIEW environment AS -- one variable that was set, and changes what CUDA or PyTorch does, or names the owner; no others are recorded
SELECT
    process AS process, -- processes.id
    name AS name, -- such as CUDA_LAUNCH_BLOCKING: docs/environment.md
    value AS value -- at the first context, or first CUDA call; at most 511 bytes
FROM variable;

CREATE VIEW minutes AS -- sums of one minute, of time recorded in full and of older time
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
    t.minute * 60000000000 AS minute_ns, -- its start, since session start
    strftime('%Y-%m-%d %H:%M:%S', ((SELECT value FROM meta WHERE key = 'start_unix_ns') + t.minute * 60000000000) / 1000000000, 'unixepoch') AS utc, -- its start, UTC
    nullif(t.process, 0) AS process, -- processes.id; NULL: all (busy, recorded)
    t.what AS what, -- recorded, busy, idle, stall, call, launch, kernel, graph, copy, set, load, line
    t.name AS name, -- of recorded: calls, gpu; of busy: device's uuid; idle: reason; stall: cause; call: function; launch, kernel: kernel, or graph; copy: direction (sampled: function); load: kind; line: FILE:LINE; others: names not kept apart
    t.count AS count, -- begun in the minute; estimated for line, and with GPUVERIFY_GPU=sampled for kernel, graph, copy and set
    t.total_ns AS total_ns, -- of recorded, busy, idle: in this minute; others: whole time of those begun in it; stall: lost by unexpected ones; call, launch: on the host; line: on the GPU, estimated; kernel, graph, copy, set: estimated if sampled
    t.max_ns AS max_ns, -- longest
    t.bytes AS bytes -- sum
FROM total t;

CREATE VIEW recording AS -- one period in which a process's calls or GPU side were recorded, or another profiler had the GPU side
SELECT
    r.process AS process, -- processes.id
    r.start_ns AS start_ns, -- since session start; NULL: never recorded (why)
    r.end_ns AS end_ns, -- for gpu: each launch before it is in gpu_ops or losses; NULL: not yet
    r.side AS side, -- calls or gpu
    r.why AS why, -- what ended or limited it: exit, exec, killed, or a sentence; NULL: it continues
    r.gpu AS gpu, -- for gpu: seen; operations (without calls); other (nothing: another profiler had CUPTI); stopped (nothing: recording was off, or just starting); between (nothing, older traces); NULL: never recorded
    r.profiler AS profiler -- for operations and other: who had CUPTI, such as torch.profiler, or its library
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

CREATE VIEW threads AS -- one thread with CUDA calls or host functions
SELECT
    id, -- increases
    process, -- processes.id
    serial, -- increases per process
    tid, -- system's number
    name, -- the thread's name
    records -- records in the trace
FROM thread WHERE serial < 1 << 61;

CREATE VIEW devices AS -- one device of one process
SELECT
    d.id AS id, -- increases
    d.process AS process, -- processes.id
    d.device AS device, -- the process's number
    d.name AS name, -- as the driver reports it
    d.uuid AS uuid, -- the same in all processes
    CASE WHEN d.cc_major IS NOT NULL THEN d.cc_major || '.' || d.cc_minor END AS compute_capability, -- such as 9.0
    d.multiprocessors AS multiprocessors, -- count
    d.memory_bytes AS memory_bytes, -- in all
    d.clock_khz AS clock_khz, -- highest SM clock
    d.memory_clock_khz AS memory_clock_khz, -- highest
    p.driver_version AS driver_version -- processes.driver_version
FROM device d LEFT JOIN process p ON p.id = d.process;

CREATE VIEW other_processes AS -- one process outside the session on one of its devices
SELECT
    o.id AS id, -- increases
    o.uuid AS uuid, -- devices.uuid
    o.pid AS pid, -- the system's number; NULL: in another container
    o.name AS name, -- at most 15 bytes
    o.first_ns AS first_ns, -- first seen; about once a second
    o.last_ns AS last_ns, -- last seen
    o.started AS started, -- 1: after the first look at the device
    o.ended AS ended, -- 1: before the last look
    m.bytes AS memory_bytes -- of the device, at most
FROM other_process o LEFT JOIN other_process_memory m ON m.other = o.id;

CREATE VIEW samples AS -- one NVML sample of a device, every 100 ms
SELECT
    s.id AS id, -- increases
    s.uuid AS uuid, -- devices.uuid
    s.at_ns AS at_ns, -- since session start
    s.gpu_percent AS gpu_percent, -- of the time a kernel ran
    s.memory_percent AS memory_percent, -- of the time memory was read or written
    s.memory_used_bytes AS memory_used_bytes, -- by all processes
    s.power_mw AS power_mw, -- milliwatts
    s.sm_clock_mhz AS sm_clock_mhz, -- of the SMs
    s.memory_clock_mhz AS memory_clock_mhz, -- of the memory
    s.temperature_c AS temperature_c, -- degrees Celsius
    g.duration_ns AS gpm_ns, -- time before at_ns that the columns from sm_percent to nvlink_rx_mib cover; NULL: no GPM
    g.sm_tenths / 10.0 AS sm_percent, -- of the SMs had work
    g.occupancy_tenths / 10.0 AS occupancy_percent, -- resident warps, of the maximum
    g.tensor_tenths / 10.0 AS tensor_percent, -- of the tensor cores' peak
    g.dram_tenths / 10.0 AS dram_percent, -- of DRAM bandwidth
    g.fp64_tenths / 10.0 AS fp64_percent, -- of the FP64 units' peak, without tensor cores
    g.fp32_tenths / 10.0 AS fp32_percent, -- of the FP32 units' peak
    g.fp16_tenths / 10.0 AS fp16_percent, -- of the FP16 units' peak
    g.pcie_tenths / 10.0 AS pcie_percent, -- of the PCIe link's speed, in its fuller direction
    g.pcie_tx_mib AS pcie_tx_mib, -- sent, MiB/s
    g.pcie_rx_mib AS pcie_rx_mib, -- received, MiB/s
    g.nvlink_tx_mib AS nvlink_tx_mib, -- sent, MiB/s, all links
    g.nvlink_rx_mib AS nvlink_rx_mib, -- received, MiB/s
    CASE WHEN g.clock_reasons & 132 THEN 'power' WHEN g.clock_reasons & 96 THEN 'heat' WHEN g.clock_reasons & 282 THEN 'limit' END AS slowed_by -- power, heat, limit (another, such as set clocks); NULL: nothing
FROM sample s LEFT JOIN sample_gpm g ON g.sample = s.id;

CREATE VIEW jits AS -- one compilation by the driver, or search for compiled code
SELECT
    j.id AS id, -- increases
    j.process AS process, -- processes.id
    j.call AS call, -- calls.id
    CASE j.operation WHEN 1 THEN 'cache load' WHEN 2 THEN 'cache store' WHEN 3 THEN 'compile' END AS operation, -- compile, cache load, cache store
    CASE j.entry WHEN 1 THEN 'ptx to cubin' WHEN 2 THEN 'nvvm to ptx' END AS entry, -- ptx to cubin, nvvm to ptx
    j.start_ns AS start_ns, -- since session start
    j.duration_ns AS duration_ns, -- of it
    j.cache_bytes AS cache_bytes, -- size in the cache
    j.device AS device -- devices.device
FROM jit j;

CREATE VIEW overheads AS -- one overhead reported by CUPTI, except its upkeep
SELECT
    o.id AS id, -- increases
    o.process AS process, -- processes.id
    t.id AS thread, -- threads.id; NULL: CUPTI's own numbers
    CASE o.kind WHEN 1 THEN 'driver compiler' WHEN 1 << 16 THEN 'buffer flush'
        WHEN 2 << 16 THEN 'instrumentation' WHEN 3 << 16 THEN 'resource'
        WHEN 4 << 16 THEN 'module loading' WHEN 5 << 16 THEN 'lazy function loading'
        WHEN 6 << 16 THEN 'command buffer full' WHEN 7 << 16 THEN 'buffer request'
        ELSE 'kind ' || o.kind END AS kind, -- CUPTI's name; waits for a busy GPU are in none
    o.start_ns AS start_ns, -- since session start
    o.duration_ns AS duration_ns -- of it
FROM overhead o
    LEFT JOIN thread t ON t.process = o.process AND t.tid = o.tid AND t.serial < 1 << 61;

CREATE VIEW losses AS -- one kind of lost record; no row: none lost
SELECT
    process, -- processes.id
    what, -- call, name, load, thread, host function, range, graph node, stack, Python stack, GPU record, GPU operation, record
    nullif(class, '') AS class, -- of calls: their class; of GPU records the reason (missing: the launch succeeded); last flush: not fetched from CUPTI
    count -- lost
FROM loss WHERE what NOT IN ('stack', 'native stack') OR class = 'its copy is gone';

CREATE VIEW not_taken AS -- stacks not taken, for one reason; no losses
SELECT
    process, -- processes.id
    what, -- stack: of calls; native stack: of a thread between its calls
    CASE class WHEN '' THEN 'too many' ELSE class END AS reason, -- no room, no time (beyond the budget), too many, of other threads (too many of these), not followed (its code is in no known file), ptrace refused, has a debugger
    count -- stacks
FROM loss WHERE what IN ('stack', 'native stack') AND class <> 'its copy is gone';

CREATE VIEW own_cost AS -- one part of gpuverify's own cost in one process; no row: an earlier version recorded it
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
    c.process AS process, -- processes.id
    c.what AS what, -- hooks, hooks-unrecorded, ranges, stacks, events, cpu-waits, cupti-calls, cupti-buffers, thread, start, end: docs/performance.md
    c.count AS count, -- times
    c.total_ns AS total_ns, -- sum; estimated for ranges, cupti-calls, hooks and hooks-unrecorded (hooks: from measured ones)
    c.spared AS spared, -- skipped or put off, because of the budget or for other reasons: docs/performance.md
    CASE WHEN c.what <> 'thread' THEN c.total_ns * CASE WHEN c.what IN ('start', 'end') THEN 1 ELSE r.busiest END
        / nullif((SELECT total(run_ns) FROM run), 0) END AS share -- of the time of all processes, 0 to 1: docs/performance.md; NULL: no program thread waits for it
FROM cost c JOIN run r ON r.process = c.process;

-- Summaries read the totals of a finished trace. Without totals they compute the same from each row:
-- "stored" is then 0, and cross joins keep SQLite from reading the rows otherwise. Medians need
-- every name's durations in order: they are counted by duration first, which leaves far fewer to
-- order. What is used twice is computed once without saying MATERIALIZED, which SQLite before 3.35
-- could not read, and with it none of the file.

CREATE VIEW api_summary AS -- all rows of calls with one name; quick questions have none, so the mean of such a function is too high: docs/apis.md
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
    a.name AS name, -- calls.name
    a.class AS class, -- calls.class
    n.count AS count, -- calls
    n.total_ns AS total_ns, -- sum
    n.min_ns AS min_ns, -- shortest
    n.median_ns AS median_ns, -- lower one of two
    n.max_ns AS max_ns, -- longest
    n.total_ns * 1.0 / nullif((SELECT sum(total_ns) FROM total), 0) AS share, -- of the time in all calls, 0 to 1
    n.errors AS errors -- results except 0, 600 (not ready), 4 (driver shut down); of NCCL except 0, 7 (in progress)
FROM total n JOIN api a ON a.id = n.api;

CREATE VIEW scaled AS -- GPU time of one kernel, graphs, or copies and sets of one function, estimated from measured calls (GPUVERIFY_GPU=sampled only)
SELECT
    CASE t.kind WHEN 1 THEN 'kernel' WHEN 2 THEN 'copy' WHEN 3 THEN 'set' WHEN 4 THEN 'graph' END AS kind, -- gpu_ops.kind
    CASE t.kind WHEN 1 THEN coalesce(k.name, '?') WHEN 4 THEN 'graph' ELSE a.name END AS name, -- linked name; of copies and sets, the call's
    t.launches AS count, -- calls
    t.samples AS samples, -- measured calls; in a part of a trace: of the whole run
    t.total_ns AS total_ns, -- on the GPU, of all; NULL: none was measured
    t.error_ns AS error_ns -- standard error
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
    n.key AS name, -- gpu_ops.name
    n.count AS count, -- runs
    n.total_ns AS total_ns, -- on the GPU
    n.min_ns AS min_ns, -- shortest
    n.median_ns AS median_ns, -- lower one of two
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
    CASE n.key WHEN -1 THEN 'memset' ELSE coalesce(y.name, 'copy') END AS name, -- gpu_ops.name
    n.count AS count, -- copies or sets
    n.total_ns AS total_ns, -- on the GPU
    n.min_ns AS min_ns, -- shortest
    n.median_ns AS median_ns, -- lower one of two
    n.max_ns AS max_ns, -- longest
    n.total_ns * 1.0 / nullif((SELECT sum(total_ns) FROM total), 0) AS share, -- of the time of all copies and sets, 0 to 1
    n.bytes AS bytes -- sum
FROM total n LEFT JOIN copy_kind y ON y.id = n.key;
