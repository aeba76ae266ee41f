-- What statements of several files share.

-- define: in_part(process, thread, start)
-- ?1 to ?4 are a struct gv_totals_part: process, thread, from, to.
(?1 = 0 OR {process} = ?1) AND (?2 = 0 OR {thread} = ?2) AND {start} >= ?3 AND {start} < ?4

-- define: is_failure(class, result)
-- As gv_result_is_failure() says it.
CASE {class} WHEN 'collective' THEN {result} NOT IN (0, 7) ELSE {result} NOT IN (0, 4, 600) END

-- define: is_open
-- Whether more may follow: the trace is being written, or is a snapshot.
((SELECT value FROM meta WHERE key = 'state') IS NOT 'complete'
    OR EXISTS (SELECT 1 FROM meta WHERE key = 'snapshot_ns'))

-- define: running
-- Processes of which more may follow, and the words for it.
(SELECT 'process ' || pid || CASE WHEN EXISTS (SELECT 1 FROM meta WHERE key = 'snapshot_ns')
        THEN ' still ran when the snapshot was taken' ELSE ' still runs' END AS words
    FROM process WHERE ended IS NULL AND {is_open})

-- define: stopped_times
-- The times in which recording of a process was stopped. Calls that are recorded then show what
-- later ones need, and count for nothing else.
(SELECT process, start_ns, end_ns
    FROM (SELECT process, number, at_ns AS start_ns, lead(at_ns, 1, 9223372036854775807)
            OVER (PARTITION BY process ORDER BY number) AS end_ns
        FROM recording_change)
    WHERE number & 1)

-- define: last_change(process, at)
-- Odd: recording was stopped then. NULL: it never was before.
(SELECT change.number FROM recording_change change WHERE change.process = {process} AND change.at_ns <= {at}
    ORDER BY change.number DESC LIMIT 1)

-- define: is_recorded(process, start)
(coalesce({last_change({process}, {start})}, 0) & 1 = 0)

-- define: sees_nothing(gpu)
-- Of a row of gpu_change or recording: nothing of the GPU side is recorded.
({gpu} IN ('other', 'stopped', 'between'))

-- define: has_gpu_side
-- Processes whose GPU side was recorded, not only in windows.
(SELECT id FROM process WHERE gpu = 'cupti' UNION SELECT process FROM gpu_place
    EXCEPT SELECT process FROM gpu_change WHERE gpu = 'between')

-- define: total_of(r)
-- The row of range_total for one of range.
(SELECT total FROM range_total_of WHERE kind = {r}.kind AND domain = coalesce({r}.domain, 0)
    AND text = coalesce({r}.text, 0))

-- define: op_is_of_thread
-- ?1: the thread, 0 for all. (Both sides of an OR would be computed.)
CASE ?1 WHEN 0 THEN 1 ELSE (SELECT thread FROM call WHERE id = gpu_op.call) = ?1 END

-- define: in_package(file)
-- Whether a frame's file belongs to an installed package or to Python itself, or is code that Inductor wrote.
coalesce({file} LIKE '%/site-packages/%' OR {file} LIKE '%/dist-packages/%'
    OR {file} GLOB '*/lib/python3.*/*' OR {file} LIKE '<frozen %' OR {file} LIKE '%/torchinductor_%', 0)

-- define: line_of(place)
-- The file and the line of what gv_where() returns, without the function; or else all of it.
CASE WHEN instr(substr({place}, 1, instr({place} || ' ', ' ')), ':') > 0
    THEN substr({place}, 1, instr({place} || ' ', ' ') - 1) ELSE {place} END

-- define: is_system(kind, library)
-- Whether a frame is CUDA's own (report/analyse/names/runtime_frames.h), or the C library's, whose
-- start-up code is below every main().
({kind} = 'runtime' OR coalesce({library} GLOB '*/libc.so.6' OR {library} GLOB '*/libc-2.*.so'
    OR {library} GLOB '*/libm.so.6' OR {library} GLOB '*/libm-2.*.so' OR {library} GLOB '*/libmvec[-.]*'
    OR {library} GLOB '*/libpthread[-.]*' OR {library} GLOB '*/ld-linux*', 0))

-- define: is_of_others(kind, file, library)
-- Whether a frame is an installed package's, or native code of the system's folders, which may have
-- lines where packages with debugging information are installed.
CASE {kind} WHEN 'python' THEN {in_package({file})}
    ELSE NOT {is_system({kind}, {library})} AND coalesce({library} GLOB '/lib/*' OR {library} GLOB '/lib64/*'
        OR {library} GLOB '/usr/lib/*' OR {library} GLOB '/usr/lib64/*', 0) END

-- define: new_ptx_calls
-- Calls that loaded PTX which the run had not loaded before: the driver compiles it, unless its
-- cache has it from an earlier run.
(SELECT call FROM (SELECT call, image,
        row_number() OVER (PARTITION BY hash ORDER BY start_ns) AS time FROM load)
    WHERE image IS 'ptx' AND time = 1 AND call IS NOT NULL)

-- define: is_unsure_ptx(stall)
-- Whether a row of stalls may be compiling that was taken for waiting: only the GPU's side tells the
-- two apart.
({stall}.cause = 'module-load' AND {stall}.confidence = 'inferred'
    AND {stall}.call IN {new_ptx_calls})

-- define: launch_blocking
-- The processes in which each launch waited for its own work. The driver knows no other value
-- (H100, driver 580).
(SELECT process FROM variable WHERE name = 'CUDA_LAUNCH_BLOCKING' AND value = '1')

-- define: if_any(what)
-- The first table of a FROM: without a row of it, the others are not read.
(SELECT 1 FROM {what} LIMIT 1) CROSS JOIN

-- define: capture_marks
-- Begins and ends of captures. An attempt to end a capture that left it on (908: from another
-- thread) is none; with 901 and 904 it ends, and there is no graph.
SELECT c.id AS id, t.process AS process, c.stream AS stream, c.start_ns AS start_ns,
    c.start_ns + c.duration_ns AS end_ns, a.begins_capture AS begins,
    coalesce(c.result, 0) AS result
FROM {if_any(api WHERE begins_capture)} call c JOIN api a ON a.id = c.api JOIN thread t ON t.id = c.thread
WHERE c.stream IS NOT NULL
    AND c.api IN (SELECT id FROM api WHERE begins_capture OR ends_capture)
    AND (coalesce(c.result, 0) = 0 OR NOT a.begins_capture AND c.result IN (901, 904))

-- define: is_captured(call)
-- Whether the stream of a call of the process ?1 was being captured, by temp.capture (report/analyse/gpu_unseen.h).
-- The last capture of the stream alone: a program may capture in each of its steps.
coalesce((SELECT capture.end_ns FROM temp.capture WHERE capture.process = ?1 AND capture.stream = {call}.stream
    AND capture.start_ns <= {call}.start_ns ORDER BY capture.start_ns DESC LIMIT 1) >= {call}.start_ns, 0)

-- define: without_number(word)
-- "train.py:31" is "train.py".
CASE WHEN rtrim({word}, '0123456789') LIKE '%_:' AND {word} NOT LIKE '%:'
    THEN rtrim(rtrim({word}, '0123456789'), ':') ELSE {word} END

-- define: code(location)
-- The location without its line, which other builds may have at another line.
CASE WHEN instr({location}, ' ') = 0 THEN {without_number({location})}
    ELSE {without_number(substr({location}, 1, instr({location}, ' ') - 1))}
        || substr({location}, instr({location}, ' ')) END

-- define: is_server(name)
-- Of a process outside the session: MPS's, which does its clients' work and none of its own. A name has 15 bytes.
(coalesce({name}, '') = 'nvidia-cuda-mps')

-- define: cupti_was_in_use
-- Of rows of own_cost: CUPTI costs the GPU more than what is estimated for its calls.
coalesce(max(what = 'cupti-calls' AND count > 0), 0)

-- define: finding_name
-- What a finding is called where runs are compared.
rtrim(key) || CASE phase WHEN 'main' THEN '' ELSE ', ' || phase END
