-- What the totals read and write.

-- ---- what is small, and kept in memory ----

-- name: places
-- The number of the device is the same for all processes that used it.
SELECT p.id, p.process, p.device,
    dense_rank() OVER (ORDER BY coalesce(d.uuid, p.process || ':' || p.device)),
    d.multiprocessors, d.id
FROM gpu_place p LEFT JOIN device d ON d.process = p.process AND d.device = p.device;

-- name: shapes
-- The rank of the kernel's name, 0 without one; blocks, but not of NCCL's kernels (as gv_kernel_is_collective() tells
-- them), which use few by design.
SELECT s.id, n.rank, iif(n.name GLOB '*ncclDevKernel_*' OR n.name GLOB '*ncclKernel_*', 0, s.grid_x * s.grid_y * s.grid_z),
    s.name
FROM gpu_shape s LEFT JOIN
    (SELECT id, name, dense_rank() OVER (ORDER BY name) AS rank FROM gpu_name WHERE name <> '?') n
    ON n.id = s.name;

-- define: numbered_devices
-- A device has the same number in all processes; at most 64 devices are told apart. Without the GPU
-- side there is no UUID; then all processes are taken to number the devices alike.
SELECT d.id AS id, u.process AS process, u.device AS device, d.uuid AS uuid,
    dense_rank() OVER (ORDER BY coalesce(d.uuid, ':' || u.device)) AS number
FROM (SELECT process, device FROM device UNION SELECT c.process, d.device FROM context_device d
        JOIN context c ON c.id = d.context) u
    LEFT JOIN device d ON d.process = u.process AND d.device = u.device

-- name: contexts
-- The session's only device is that of all contexts.
SELECT c.id, c.handle,
    CASE (SELECT max(number) FROM ({numbered_devices})) WHEN 1 THEN 1 ELSE d.number END
FROM context c LEFT JOIN context_device x ON x.context = c.id
    LEFT JOIN ({numbered_devices}) d ON d.process = c.process AND d.device = x.device;

-- name: processes
SELECT id, id IN {launch_blocking} FROM process;

-- ---- calls ----

-- name: flights
SELECT f.process, t.id, f.start_ns, f.seen_ns, f.api
FROM flight f LEFT JOIN thread t ON t.process = f.process AND t.serial = f.thread_serial;

-- name: memory_events
-- What happened, until it is taken in the order of time: there may be more than memory holds.
DROP TABLE IF EXISTS temp.memory_event;
CREATE TEMP TABLE memory_event (at_ns, call, process, object, bytes, space, context, api, device,
    duration_ns);

-- name: memory_ends
-- The ends of processes between ?2 and ?3, after all calls at the same time, and samples of the
-- devices. ?1, ?4: enum gv_memory_space
INSERT INTO temp.memory_event
SELECT end_ns, 9223372036854775807, id, 0, 0, ?1, 0, 0, 0, 0 FROM process
WHERE end_ns IS NOT NULL AND end_ns >= ?2 AND end_ns < ?3
UNION ALL SELECT s.at_ns, 0, 0, 0, s.memory_used_bytes, ?4, 0, 0, d.number, 0
FROM sample s JOIN (SELECT DISTINCT uuid, number FROM ({numbered_devices})) d ON d.uuid = s.uuid
WHERE s.memory_used_bytes IS NOT NULL AND s.at_ns >= ?2 AND s.at_ns < ?3;

-- name: memory_ordered
-- Physical memory belongs to no context: its call names the device.
SELECT e.at_ns, e.call, e.process, e.object, e.bytes, e.space, e.context, e.api,
    CASE WHEN e.space = 4 THEN (SELECT number FROM ({numbered_devices}) d
        WHERE d.process = e.process AND d.device = (o.object & 4294967295)) ELSE e.device END,
    e.duration_ns, o.object, CASE WHEN e.space BETWEEN 1 AND 4 THEN s.stack END
FROM temp.memory_event e LEFT JOIN call_object o ON o.call = e.call
    LEFT JOIN call_stack s ON s.call = e.call
ORDER BY 1, 2;

-- ---- the first use of the GPU ----

-- name: first_use
-- When each load and start began, how long it took, and how long of that it waited for the GPU.
-- Several loads in a call are one. The calls that start CUDA lie between the calls ?5 and ?6.
SELECT loads, start_ns, duration_ns, wait_ns FROM (
    SELECT 1 AS loads, min(l.start_ns) AS start_ns, max(l.duration_ns) AS duration_ns,
        max(coalesce(w.wait_ns, 0)) AS wait_ns
    FROM load l LEFT JOIN load_wait w ON w.load = l.id LEFT JOIN thread t ON t.id = l.thread
    WHERE l.result = 0 AND {in_part(t.process, l.thread, l.start_ns)} AND gv_in_ranges(l.call)
        AND {is_recorded(t.process, l.start_ns)}
    GROUP BY coalesce(l.call, -l.id)
    UNION ALL SELECT 1, min(c.start_ns), max(c.duration_ns), max(coalesce(w.wait_ns, 0))
    FROM gpu_module m JOIN call c ON c.id = m.call LEFT JOIN load_wait w ON w.load = -m.id
    WHERE m.call NOT IN (SELECT call FROM load WHERE call IS NOT NULL)
        AND {in_part(m.process, c.thread, c.start_ns)} AND gv_in_ranges(m.call)
        AND {is_recorded(m.process, c.start_ns)}
    GROUP BY m.call
    UNION ALL SELECT 0, c.start_ns, c.duration_ns, 0
    FROM call c LEFT JOIN thread t ON t.id = c.thread
    WHERE c.id BETWEEN ?5 AND ?6 AND c.api IN (SELECT id FROM api WHERE starts_cuda)
        AND {in_part(t.process, c.thread, c.start_ns)} AND gv_in_ranges(c.id)
        AND {is_recorded(t.process, c.start_ns)})
ORDER BY start_ns + max(wait_ns, 0);

-- name: first_use_jits
SELECT 1, start_ns, duration_ns, 0 FROM jit
WHERE (?1 = 0 OR process = ?1) AND start_ns >= ?3 AND start_ns < ?4 AND gv_in_ranges(call)
    AND {is_recorded(jit.process, jit.start_ns)}
ORDER BY start_ns;

-- ---- what is kept ----

-- name: version
-- Of the totals that a finished trace has.
SELECT value FROM main.meta WHERE key = 'totals'
    AND EXISTS (SELECT 1 FROM main.meta WHERE key = 'state' AND value = 'complete');

-- name: is_made
-- Whether the temporary tables are of this part.
SELECT 1 FROM temp.totals_part
WHERE process = ?1 AND thread = ?2 AND device = ?3 AND from_ns = ?4 AND to_ns = ?5
    AND ranges = ?6;

-- name: allow_made
CREATE TABLE IF NOT EXISTS temp.totals_part (process, thread, device, from_ns, to_ns, ranges);

-- name: forget_made
DELETE FROM temp.totals_part;

-- name: set_made
INSERT INTO temp.totals_part VALUES (?1, ?2, ?3, ?4, ?5, ?6);

-- name: add_fact
INSERT INTO fact (value, key) VALUES (?1, ?2);

-- name: add_api
INSERT INTO api_total (api, count, errors, total_ns, min_ns, median_ns, max_ns, bytes)
VALUES (?, ?, ?, ?, ?, ?, ?, ?);

-- name: add_thread
INSERT INTO thread_total (thread, count, total_ns, first_ns, last_ns) VALUES (?, ?, ?, ?, ?);

-- name: add_kernel
INSERT INTO kernel_total (rank, count, total_ns, min_ns, median_ns, max_ns, shape, shapes, device,
    name)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, nullif(?7, 0), ?8, nullif(?9, 0),
    (SELECT n.name FROM gpu_shape s JOIN gpu_name n ON n.id = s.name WHERE s.id = ?7));

-- name: add_copy
INSERT INTO copy_total (copy_kind, count, total_ns, min_ns, median_ns, max_ns, bytes)
VALUES (?, ?, ?, ?, ?, ?, ?);

-- name: add_direction
INSERT INTO copy_median (direction, median_ns) VALUES (?, ?);

-- name: add_device
INSERT INTO device_total (number, device, operations, first_ns, last_ns, busy_ns, kernel_ns, copy_ns)
VALUES (?1, nullif(?2, 0), ?3, ?4, ?5, ?6, ?7, ?8);

-- name: add_graph
INSERT INTO graph_total (id, process, launches, operations, total_ns, median_ns) VALUES (?, ?, ?, ?, ?, ?);

-- name: add_graph_line
INSERT INTO graph_line (graph, place, kind, name, copy_kind, operations, total_ns, median_ns)
VALUES (?1, nullif(?2, 0), ?3, nullif(?4, 0), nullif(?5, 0), ?6, ?7, ?8);

-- name: add_error
INSERT INTO error_total (api, result, count) VALUES (?, ?, ?);

-- name: add_launch
INSERT INTO launch_total (kernel, count, total_ns) VALUES (?, ?, ?);

-- define: space(number)
-- enum gv_memory_space
CASE {number} WHEN 1 THEN 'device' WHEN 2 THEN 'host' ELSE 'managed' END

-- name: add_memory
INSERT OR REPLACE INTO memory_left (call, space, bytes) VALUES (?1, {space(?2)}, ?3);

-- name: add_memory_line
INSERT INTO memory_line (id, place, api, space, allocations, allocated_bytes, freed, largest_bytes,
    peak_bytes, at_peak_bytes, left_bytes, life_ns, time_ns)
VALUES (?1, nullif(?2, 0), ?3, {space(?4)}, ?5, ?6, ?7, ?8, ?9, ?10, ?11,
    CASE WHEN ?7 > 0 THEN ?12 END, ?13);

-- name: add_memory_holder
INSERT INTO memory_holder (line, process, device, bytes, blocks)
VALUES (?1, ?2, nullif(?3, 0), ?4, ?5);

-- name: add_memory_top
-- ?1: number of the device; 0: unknown. ?4: what a sample at ?5 saw beside the session's allocations;
-- -1: unknown. Of that, the others that were seen about then had some.
INSERT INTO memory_top (number, device, at_ns, bytes, outside_bytes, others, other_bytes)
SELECT nullif(?1, 0), (SELECT min(id) FROM ({numbered_devices}) WHERE number = ?1), ?2, ?3,
    CASE WHEN ?4 >= bytes THEN ?4 - bytes END, count, nullif(bytes, 0)
FROM (SELECT count(*) AS count,
        CASE WHEN count(*) = count(memory_bytes) THEN CAST(total(memory_bytes) AS INTEGER) END AS bytes
    FROM other_processes
    WHERE uuid IN (SELECT uuid FROM ({numbered_devices}) WHERE number = ?1)
        AND first_ns <= ?5 + 2000000000 AND last_ns >= ?5 - 2000000000);

-- name: add_stretch
INSERT INTO timeline (stretch, taken_ns, lane) VALUES (?1, ?2, ?3);
