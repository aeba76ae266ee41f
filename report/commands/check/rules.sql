-- The rules of rules.def. Each query gives one row: whether the rule is broken (NULL: that cannot be
-- known), and what was found, in words. The parameters are the members of struct gv_check_rule. The functions gv_... are those
-- of report/commands/sql_values.h.

-- define: percent(ratio)
printf('%.1f %%', 100.0 * {ratio})

-- define: meta(key)
(SELECT value FROM meta WHERE key = '{key}')

-- define: fact(key)
(SELECT value FROM fact WHERE key = '{key}')

-- define: s(count)
CASE {count} WHEN 1 THEN '' ELSE 's' END

-- define: lost_gpu_or_any
-- Of a row of losses: a record that the spool lacks may be of any kind.
what LIKE 'GPU %' OR what = 'record'

-- define: is_held
-- A call that had not returned may be a stall of the cause :text.
elapsed_ns >= {meta(stall_threshold_ns)} AND (cause = :text OR
    cause IS NULL AND :text <> 'explicit-sync' OR :text = 'any' AND cause <> 'explicit-sync')

-- define: is_unseen(class, may_compile, may_wait)
-- It is not known what a call of this class lost: only CUPTI reports the driver's compiler, and where the
-- GPU side is known in part, waits may have been counted as work.
({may_compile} AND {class} IN ('load', 'launch', 'function', 'graph')
        AND EXISTS (SELECT 1 FROM processes WHERE gpu <> 'cupti' OR gpu IS NULL AND ended = 'killed'
            OR id IN (SELECT process FROM gpu_change))
    OR {class} <> 'init' AND ({class} <> 'sync' OR {may_wait})
        AND EXISTS (SELECT 1 FROM losses WHERE count > 0 AND ({lost_gpu_or_any})))

-- define: unseen(longer, may_compile)
-- The longest of them.
SELECT a.name AS name, t.max_ns AS took FROM api_total t JOIN api a ON a.id = t.api
WHERE t.max_ns {longer} AND {is_unseen(a.class, {may_compile}, :text = 'explicit-sync')}
ORDER BY took DESC LIMIT 1

-- define: say_unseen
name || ' took ' || gv_duration(took) || '; how much of that was waiting or compiling is not fully known'

-- define: unseen_words(longer, may_compile)
(SELECT {say_unseen} FROM ({unseen({longer}, {may_compile})}))

-- name: max_finding
-- :of is the phase; NULL: any.
WITH large AS (SELECT f.* FROM findings f
    WHERE f.saves_ns > 0 AND f.share > :fraction AND (:of IS NULL OR f.phase = :of)
        AND coalesce(rtrim(f.key), '') NOT IN (SELECT key FROM temp.known WHERE key IS NOT NULL))
SELECT count(*) > 0, printf('%d finding%s more than that; f%d takes %s of %s: ', count(*),
        CASE count(*) WHEN 1 THEN ' loses' ELSE 's lose' END, id, {percent(max(share))},
        CASE phase WHEN 'main' THEN phase ELSE 'the ' || phase END)
    || what || coalesce(' at ' || gv_line(function, NULL, file, line), '')
    || coalesce((SELECT ', rank ' || rank FROM processes WHERE id = large.process), '')
FROM large;

-- name: min_gpu_busy
-- :of is the phase; NULL: the run. If another profiler had the GPU side for a time, of the time that was seen. "least" is the share if operations that were lost were those of another device.
WITH lanes AS (SELECT process, device, CAST(total(total_ns) AS INTEGER) AS run_ns,
        CAST(total(CASE WHEN gv_account(what) = 'busy' THEN total_ns END) AS INTEGER) AS busy_ns,
        CAST(total(CASE what WHEN 'not-seen' THEN total_ns END) AS INTEGER) AS unseen_ns
    FROM ledger WHERE :of IS NULL OR phase = :of GROUP BY 1, 2),
known AS (SELECT total(busy_ns) AS busy_ns, total(unseen_ns) AS unseen_ns, total(run_ns) - total(unseen_ns) AS seen_ns,
        (SELECT total(coalesce(p.end_ns, {fact(last_ns)}) - p.start_ns) FROM devices d JOIN processes p ON p.id = d.process
            WHERE EXISTS (SELECT 1 FROM losses WHERE {lost_gpu_or_any})
                AND NOT EXISTS (SELECT 1 FROM lanes l WHERE l.process = d.process AND l.device = d.device)) AS hidden_ns
    FROM lanes)
SELECT CASE WHEN coalesce(busy, 0) < :fraction THEN 1 WHEN coalesce(least < :fraction, 1) THEN NULL ELSE 0 END,
    CASE WHEN busy >= :fraction THEN 'records were lost, so the share of time in which the GPU was busy is unknown'
        WHEN busy IS NULL THEN 'no device had work'
        ELSE printf('the GPU was busy %s of %s: %s of %s%s', {percent(busy)},
            CASE WHEN :of IS NULL THEN 'the run' WHEN :of = 'main' THEN :of ELSE 'the ' || :of END, gv_duration(busy_ns), gv_duration(seen_ns),
            CASE WHEN unseen_ns > 0 THEN ' that were seen' ELSE '' END) END
FROM (SELECT unseen_ns, CAST(busy_ns AS INTEGER) AS busy_ns, CAST(seen_ns AS INTEGER) AS seen_ns,
    busy_ns * 1.0 / nullif(seen_ns, 0) AS busy,
    CASE WHEN NOT (EXISTS (SELECT 1 FROM losses WHERE what IN ('call', 'thread', 'record'))
            AND EXISTS (SELECT 1 FROM processes WHERE end_ns IS NULL)) AND (:of IS NULL OR hidden_ns = 0)
        THEN coalesce(busy_ns * 1.0 / nullif(seen_ns + hidden_ns, 0), 0) END AS least
    FROM known);

-- name: max_gpu_gap
-- Between two operations: not before the first or after the last.
SELECT coalesce(max(gap_ns), 0) > :number, 'a device was idle for ' || gv_duration(coalesce(max(gap_ns), 0))
FROM idle_time WHERE is_inner;

-- define: wanted_ns
-- Of a lane: a share is of all but what nobody saw or wanted.
nullif(total(CASE WHEN gv_account(what) <> 'aside' THEN total_ns END), 0)

-- define: idle_words(share)
printf('device %s of process %d was idle for %s of its time', coalesce(device, '?'), (SELECT pid FROM processes WHERE id = process),
    {percent({share})})

-- name: max_idle
-- Without an operation, no device is known to have idled, but all have.
SELECT CASE WHEN count(*) = 0 THEN 1 > :fraction ELSE max(idle_ns / ns) > :fraction END,
    CASE WHEN count(*) = 0 THEN 'no device had work' ELSE {idle_words(idle_ns / ns)} END
FROM (SELECT process, device, {wanted_ns} AS ns, total(CASE WHEN gv_account(what) = 'idle' THEN total_ns END) AS idle_ns
    FROM ledger GROUP BY process, device);

-- define: is_own
-- Whether a row of the ledger is of the accounts :of, of a phase, or claimed by a wait.
(instr(:of, ' ' || what || ' ') > 0 OR instr(:of, ' ' || phase || ' ') > 0 AND gv_account(what) = 'idle'
    OR claimed_by_function IS NOT NULL AND :of = ' waits ')

-- define: is_unsure
-- Nothing tells of what account the row is; but its phase and who claims it are known.
(what IN ('unknown', 'host-code') AND :of NOT IN (' waits ', ' start ', ' end '))

-- name: max_idle_of
-- :of are the accounts, :fraction the share, which is sure up to twice its standard error.
WITH shares AS (SELECT process, device, own_ns / ns AS own, gv_root(variance) / ns AS error, most_ns / ns AS most
    FROM (SELECT process, device, {wanted_ns} AS ns, total(CASE WHEN {is_own} THEN total_ns END) AS own_ns,
        total(CASE WHEN {is_own} OR {is_unsure} THEN total_ns END) AS most_ns,
        total(CASE WHEN {is_own} AND what NOT IN ('unknown', 'host-code') THEN 1.0 * error_ns * error_ns END) AS variance
        FROM ledger GROUP BY process, device))
SELECT CASE WHEN EXISTS (SELECT 1 FROM shares WHERE own - 2 * error > :fraction) THEN 1
        WHEN EXISTS (SELECT 1 FROM shares WHERE own + 2 * error > :fraction OR most > :fraction) THEN NULL ELSE 0 END,
    CASE WHEN coalesce(own, 0) <= :fraction THEN 'too much idle time has no known reason; see gpuverify idle'
        ELSE {idle_words(own)} || ' for that reason'
            || CASE WHEN error >= 0.0005 THEN ', standard error ' || {percent(error)} ELSE '' END END
FROM (SELECT 1) LEFT JOIN (SELECT * FROM shares ORDER BY own DESC LIMIT 1);

-- define: is_of_file(file)
-- A file is named by its end, from a slash on.
substr('/' || {file}, -length('/' || :of)) = '/' || :of

-- define: is_of_line(file, line)
{is_of_file({file})} AND (:line = 0 OR {line} = :line)

-- name: max_gpu_of
-- :of is the file, :fraction the share, :line the line; 0: any. A share is sure up to twice its standard error.
-- A graph counts for the line that launched it and for the one that captured it. Work whose line is
-- not known may be of this one. Without a frame in the file, its name may be wrong.
SELECT CASE WHEN NOT known THEN NULL WHEN share - 2 * error > :fraction THEN 1
        WHEN share + 2 * error + unknown > :fraction THEN NULL ELSE 0 END,
    CASE WHEN NOT known THEN 'no stack of this trace has a line of that file'
        ELSE printf('%s of the GPU''s time, standard error %s', {percent(share)}, {percent(error)})
            || CASE WHEN share - 2 * error <= :fraction AND unknown > 0
                THEN printf('; of %s the line is not known', {percent(unknown)}) ELSE '' END END
FROM (SELECT total(CASE WHEN own THEN share END) AS share,
        gv_root(total(CASE WHEN own THEN error * error END)) AS error,
        total(CASE WHEN file IS NULL AND function IS NULL AND library IS NULL THEN share END) AS unknown,
        EXISTS (SELECT 1 FROM frames f WHERE {is_of_file(f.file)}) AS known
    FROM (SELECT *, {is_of_line(file, line)} OR {is_of_line(captured_file, captured_line)} AS own
        FROM gpu_lines));

-- name: max_idle_in
-- The ledger is that of these ranges. Of the devices of a process the one counts that idled least. The time of a range without an end is
-- not known.
WITH least AS (SELECT ns, min(idle_ns / ns) AS share
    FROM (SELECT process, {wanted_ns} AS ns, total(CASE WHEN gv_account(what) = 'idle' THEN total_ns END) AS idle_ns
        FROM ledger GROUP BY process, device)
    GROUP BY process)
SELECT CASE WHEN unended = 0 THEN idle > :fraction END, CASE WHEN unended = 0
    THEN printf('no device had work in %s of the time of these ranges', {percent(idle)})
    ELSE printf('%d of these ranges %s no end, so their time is not known', unended, CASE unended WHEN 1 THEN 'has' ELSE 'have' END) END
FROM (SELECT coalesce(total(share * ns) / nullif(total(ns), 0), 1) AS idle FROM least),
    (SELECT count(*) AS unended FROM ranges WHERE kind <> 'mark' AND duration_ns IS NULL AND gv_range_is(:range, domain, message));

-- define: is_accepted(stall)
-- Whether it is a known one (--accept), and not longer than known.
EXISTS (SELECT 1 FROM temp.accepted a WHERE a.cause = {stall}.cause AND a.stack IS {stall}.stack
    AND {stall}.wait_ns + {stall}.jit_ns <= a.most_ns AND NOT {stall}.expected)

-- define: is_whole(process)
-- Whether all records of ranges are known.
NOT EXISTS (SELECT 1 FROM losses WHERE process = {process} AND count > 0
    AND what IN ('range', 'thread', 'record'))

-- name: max_stall_in
-- Where records of ranges were lost, a range whose end is not known may have ended before the call, and
-- a thread that is in another one's ranges may have pushed some itself. Those that are sure come first.
WITH named AS (
    SELECT l.call AS call, l.thread AS thread, l.start_ns AS start_ns,
        max({is_whole(r.process)} OR r.duration_ns IS NOT NULL AND (r.kind = 'start' OR r.thread = l.thread))
            AS sure
    FROM temp.long_call l JOIN ranges r ON r.id = l.range
    WHERE gv_range_is(:range, r.domain, r.message) GROUP BY 1, 2, 3),
late AS (SELECT s.*, s.wait_ns + s.jit_ns AS lost, n.sure AS sure
    FROM stalls s JOIN named n ON n.call = s.call
    WHERE NOT s.expected AND s.wait_ns + s.jit_ns > :number AND NOT {is_accepted(s)})
SELECT CASE WHEN sure THEN 1 WHEN sure IS NULL AND doubt IS NULL THEN 0 END,
    CASE WHEN sure IS NULL THEN doubt
        ELSE printf('%d call%s in these ranges lost more than that; stall s%d, %s, lost %s (%s)', count,
                {s(count)}, id, name, gv_duration(lost), cause) || coalesce(' at ' || gv_where(stack), '')
            || CASE WHEN sure THEN '' ELSE '; records of ranges were lost, so it may not have been in one' END END
FROM (SELECT coalesce(
        (SELECT printf('%s had not returned after %s; whether it waited or worked is unknown', f.name,
                gv_duration(f.elapsed_ns)) FROM in_flight f
            WHERE f.elapsed_ns > :number AND f.cause IS NOT 'explicit-sync' AND (f.thread IS NULL OR EXISTS (
                SELECT 1 FROM named n WHERE n.call = 9223372036854775807 AND n.thread = f.thread
                    AND n.start_ns = f.start_ns))
            ORDER BY f.elapsed_ns DESC LIMIT 1),
        (SELECT {say_unseen} FROM (SELECT c.name AS name, c.duration_ns AS took
            FROM named n JOIN calls c ON c.id = n.call
            WHERE {is_unseen(c.class, 1, 0)} ORDER BY took DESC LIMIT 1)),
        CASE WHEN :number < {meta(stall_threshold_ns)} THEN 'the trace has only stalls of at least '
            || gv_duration({meta(stall_threshold_ns)}) || ' (GPUVERIFY_STALL_US)' END) AS doubt)
    LEFT JOIN (SELECT *, count(*) OVER (PARTITION BY sure) AS count FROM late ORDER BY sure DESC, lost DESC LIMIT 1);

-- name: max_stall
SELECT CASE WHEN count(*) > 0 THEN 1
        WHEN :number < {meta(stall_threshold_ns)}
            OR EXISTS (SELECT 1 FROM in_flight WHERE elapsed_ns > :number
                AND cause IS NOT 'explicit-sync')
            OR EXISTS ({unseen(> :number, 1)}) THEN NULL
        ELSE 0 END,
    CASE WHEN count(*) = 0 THEN coalesce(
        (SELECT printf('%s had not returned after %s; whether it waited or worked is unknown', name,
            gv_duration(elapsed_ns))
            FROM in_flight WHERE elapsed_ns > :number AND cause IS NOT 'explicit-sync'
            ORDER BY elapsed_ns DESC LIMIT 1),
        {unseen_words(> :number, 1)},
        'the trace has only stalls of at least ' || gv_duration({meta(stall_threshold_ns)})
            || ' (GPUVERIFY_STALL_US)')
    ELSE printf('%d call%s lost more than that; stall s%d, %s, lost %s (%s)', count(*),
        {s(count(*))}, id, name, gv_duration(max(lost)), cause) || coalesce(' at ' || gv_where(stack), '') END
FROM (SELECT *, wait_ns + jit_ns AS lost FROM stalls s WHERE NOT expected AND NOT {is_accepted(s)}) WHERE lost > :number;

-- define: longer_than_stalls
>= coalesce({meta(stall_threshold_ns)}, 0)

-- name: no_stall
SELECT CASE WHEN count(*) > 0 THEN 1
        WHEN EXISTS (SELECT 1 FROM in_flight WHERE {is_held})
            OR EXISTS ({unseen({longer_than_stalls}, :text IN ('jit', 'any'))}) THEN NULL
        ELSE 0 END,
    CASE WHEN count(*) = 0 THEN coalesce(
        (SELECT printf('%s had not returned after %s', name, gv_duration(elapsed_ns))
            FROM in_flight WHERE {is_held} ORDER BY elapsed_ns DESC LIMIT 1),
        {unseen_words({longer_than_stalls}, :text IN ('jit', 'any'))}, '')
    ELSE printf('%d call%s stalled; the longest, stall s%d, %s, lost %s (%s)', count(*),
        {s(count(*))}, id, name,
        gv_duration(max(wait_ns + jit_ns)), cause) || coalesce(' at ' || gv_where(stack), '') END
FROM stalls s WHERE (cause = :text OR (:text = 'any' AND NOT expected)) AND NOT {is_accepted(s)};

-- define: without_gpu_side
-- Or not all the time: another profiler had CUPTI, or its callbacks.
EXISTS (SELECT 1 FROM processes WHERE coalesce(gpu, '') <> 'cupti'
    OR id IN (SELECT process FROM gpu_change))

-- name: no_load_after
-- A process that has no such mark may load. A lost one would have been earlier, or of another process.
WITH edge AS (
    SELECT id AS process, CASE WHEN :launches = 0 THEN {fact(first_ns)} + :number ELSE (SELECT start_ns FROM calls
        WHERE class = 'launch' ORDER BY start_ns LIMIT 1 OFFSET :launches - 1) END AS ns FROM processes WHERE :range IS NULL
    UNION ALL SELECT process, min(start_ns) FROM ranges WHERE gv_range_is(:range, domain, message)
    GROUP BY process),
late AS (
    SELECT start_ns, function, coalesce(' of ' || name, '') AS what, ns,
        (SELECT stack FROM calls WHERE id = loads.call) AS stack
    FROM loads JOIN edge USING (process)
    WHERE result = 0 AND start_ns > ns
    UNION ALL SELECT start_ns, name, coalesce(' of ' || kernel, ''), ns, stack FROM stalls JOIN edge USING (process)
    WHERE cause = 'lazy-load' AND start_ns > ns
        AND NOT EXISTS (SELECT 1 FROM loads WHERE loads.call = stalls.call))
SELECT CASE WHEN count(*) > 0 THEN 1
        WHEN EXISTS (SELECT 1 FROM {running}) THEN NULL
        WHEN NOT EXISTS (SELECT 1 FROM edge WHERE ns < {fact(last_ns)}) THEN 0
        WHEN {without_gpu_side} OR EXISTS (SELECT 1 FROM losses WHERE what LIKE 'GPU %') THEN NULL
        ELSE 0 END,
    CASE count(*) WHEN 0 THEN CASE WHEN {without_gpu_side}
            THEN 'without the GPU side, lazy loads are unknown'
            ELSE 'a part of the GPU side is missing: code may have been loaded then' END
        ELSE printf('%d load%s of code came later; the first, %s%s%s, %s after %s',
            count(*), {s(count(*))}, function, what, coalesce(' at ' || gv_where(stack), ''),
            gv_duration(min(start_ns) - CASE WHEN :range IS NULL THEN {fact(first_ns)} ELSE ns END),
            CASE WHEN :range IS NULL THEN 'the first call' ELSE 'that' END) END
FROM late;

-- name: no_jit
SELECT count(*) > 0, printf('the driver compiled %d time%s, for %s', count(*), {s(count(*))},
    gv_duration(sum(duration_ns)))
FROM jits WHERE operation = 'compile';

-- name: max_copy_ratio
SELECT CASE WHEN kernel_ns <= 0 THEN copy_ns > 0 ELSE 1.0 * copy_ns / kernel_ns > :fraction END,
    printf('copies between host and device took %s, kernels %s', gv_duration(copy_ns), gv_duration(kernel_ns))
FROM (SELECT {fact(host_copy_ns)} AS copy_ns, {fact(gpu_kernel_ns)} AS kernel_ns);

-- define: is_it(name)
{name} GLOB :text OR gv_kernel({name}) GLOB :text

-- name: require_kernel
-- LIMIT -1: so that each name is made short once, not in each launch.
SELECT CASE WHEN EXISTS (SELECT 1 FROM kernel_total WHERE {is_it(name)})
            OR EXISTS (SELECT 1 FROM (SELECT DISTINCT kernel AS name FROM calls
                WHERE class = 'launch' AND result = 0 LIMIT -1) WHERE {is_it(name)}) THEN 0
        WHEN EXISTS (SELECT 1 FROM processes WHERE gpu <> 'cupti' OR ended IS NULL
                UNION ALL SELECT 1 FROM losses WHERE what LIKE 'GPU %'
                UNION ALL SELECT 1 FROM gpu_change WHERE {sees_nothing(gpu)})
            AND EXISTS (SELECT 1 FROM calls WHERE class = 'launch' AND kernel IS NULL) THEN NULL
        ELSE 1 END,
    CASE WHEN EXISTS (SELECT 1 FROM calls WHERE class = 'launch' AND kernel IS NULL)
        THEN 'no launch has a matching kernel name, but some names are unknown'
        ELSE 'no launch has a matching kernel name' END;

-- name: min_kernels
SELECT count < :number, printf('%d kernel%s ran', count, {s(count)})
FROM (SELECT coalesce(sum(count), 0) AS count FROM kernel_total);

-- name: min_launches
SELECT count < :number, printf('%d call%s launched kernels or graphs', count, {s(count)})
FROM (SELECT coalesce(sum(t.count - t.errors), 0) AS count
    FROM api_total t JOIN api a ON a.id = t.api WHERE a.class = 'launch');

-- name: max_peak_memory
-- Of the fullest device; its line with the most.
SELECT CASE WHEN {fact(memory_known)} THEN bytes > :number END,
    CASE WHEN NOT {fact(memory_known)} THEN 'there are more allocations at a time than are followed'
        ELSE gv_size(bytes) || ' were allocated at once' || coalesce(', ' || gv_size(line_bytes)
            || ' of it by ' || gv_line(function, library, file, line), '') END
FROM (SELECT {fact(memory_peak_bytes)} AS bytes) LEFT JOIN (
    SELECT function, library, file, line, sum(bytes) AS line_bytes FROM memory_peak
    WHERE what = 'allocated' AND number IS (SELECT number FROM memory_top ORDER BY bytes DESC LIMIT 1)
    GROUP BY 1, 2, 3, 4 ORDER BY line_bytes DESC LIMIT 1);

-- name: max_errors
SELECT count > :number, printf('%d call%s returned an error', count, {s(count)})
FROM (SELECT coalesce(sum(errors), 0) AS count FROM api_total);

-- name: no_unfinished
SELECT CASE WHEN count(name) > 0 THEN 1 WHEN running IS NOT NULL THEN NULL ELSE 0 END,
    CASE WHEN count(name) = 0 AND running IS NOT NULL
        THEN running || '; an unfinished call is reported only after GPUVERIFY_WATCHDOG'
        ELSE printf('%d call%s had not returned, such as %s', count(name), {s(count(name))},
            max(name)) END
FROM (SELECT (SELECT words FROM {running} LIMIT 1) AS running)
    LEFT JOIN in_flight ON in_flight.process NOT IN (SELECT id FROM process WHERE ended = 'exec'
        OR ended = 'exit' AND coalesce(exit_code, 0) = 0);

-- name: clean_exit
SELECT CASE WHEN count(how) > 0 THEN 1 WHEN count(*) > 0 THEN NULL ELSE 0 END,
    CASE WHEN count(how) = 0 THEN 'how process ' || pid || ' ended is not known'
        ELSE printf('%d process%s ended badly; process %d %s', count(how),
            CASE count(how) WHEN 1 THEN '' ELSE 'es' END, pid, how) END,
    min(CASE WHEN how IS NOT NULL THEN id END)
FROM (SELECT id, pid, CASE WHEN ended = 'killed' THEN coalesce(gv_ended(exit_signal), 'was killed or crashed')
        ELSE 'exited with code ' || exit_code END AS how
    FROM processes WHERE ended = 'killed' OR ended = 'exit' AND coalesce(exit_code, 1) <> 0);

-- name: max_losses
SELECT count > :number, printf('%d record%s lost', count,
    CASE count WHEN 1 THEN ' was' ELSE 's were' END)
    || CASE WHEN cut > 0 THEN printf('; of these, %d that CUPTI had not delivered when the process ended', cut) ELSE '' END
FROM (SELECT coalesce(sum(count), 0) AS count, sum(CASE WHEN class = 'last flush' THEN count END) AS cut FROM losses);

-- name: max_own_cost
-- While the program runs, the share may still fall.
SELECT CASE WHEN cost IS NULL OR {is_open} THEN NULL ELSE cost > :fraction END,
    CASE WHEN cost IS NULL
        THEN 'what gpuverify cost is not in this trace, which an earlier version recorded'
        ELSE 'gpuverify cost ' || CASE WHEN is_least THEN 'at least ' ELSE '' END || {percent(cost)} || ' of the run ('
            || (SELECT what || ' ' || {percent(total(share))} FROM own_cost
                GROUP BY what ORDER BY total(share) DESC, what LIMIT 1) || ')' END
FROM (SELECT CASE WHEN count(*) > 0 THEN total(share) END AS cost, {cupti_was_in_use} AS is_least FROM own_cost);
