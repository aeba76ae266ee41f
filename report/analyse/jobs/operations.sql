-- The GPU operations of NCCL's collectives: one that a group holds back is launched by the end of the group.

-- name: find_operations
-- depth: the groups that the thread is in after the call. launch: the call that launches a collective: itself,
-- or the end of its outermost group.
CREATE TEMP TABLE of_call (call INTEGER PRIMARY KEY, kind TEXT);
INSERT INTO temp.of_call SELECT call, kind FROM collective;
CREATE TEMP TABLE launched AS
WITH counted AS (SELECT c.id, c.thread, a.kind,
        sum(CASE a.kind WHEN 'group-begin' THEN 1 WHEN 'group-end' THEN -1 ELSE 0 END)
            OVER (PARTITION BY c.thread ORDER BY c.id ROWS UNBOUNDED PRECEDING) AS depth
    FROM call c JOIN api a ON a.id = c.api
    WHERE a.kind IN ('collective', 'group-begin', 'group-end')),
-- The begin of a group may be missing: in older time, or lost.
nccl AS (SELECT id, thread, kind, depth - min(0, min(depth) OVER (PARTITION BY thread ORDER BY id ROWS UNBOUNDED PRECEDING))
        AS depth
    FROM counted),
ended AS (SELECT id, kind, depth,
        min(CASE WHEN kind = 'group-end' AND depth <= 0 THEN id END)
            OVER (PARTITION BY thread ORDER BY id DESC ROWS UNBOUNDED PRECEDING) AS group_end
    FROM nccl)
SELECT v.call, v.kind, CASE WHEN e.depth > 0 THEN e.group_end ELSE e.id END AS launch
FROM ended e JOIN temp.of_call v ON v.call = e.id;
CREATE INDEX temp.launched_launch ON launched (launch);
-- A group may launch several kernels: that with the collective's name, on its device. NCCL runs some kinds as
-- sends and receives, and has kernels for everything.
CREATE TEMP TABLE ran (call INTEGER PRIMARY KEY, operation INTEGER);
INSERT INTO temp.ran
WITH named (kind, glob) AS (VALUES ('all-reduce', '*AllReduce*'), ('all-gather', '*AllGather*'),
    ('reduce-scatter', '*ReduceScatter*'), ('broadcast', '*Broadcast*'), ('reduce', '*_Reduce_*'),
    ('send', '*SendRecv*'), ('receive', '*SendRecv*'), ('all-to-all', '*SendRecv*'), ('gather', '*SendRecv*'),
    ('scatter', '*SendRecv*'))
SELECT call, id
FROM (SELECT l.call, o.id, row_number() OVER (PARTITION BY l.call
        ORDER BY coalesce(n.name NOT GLOB w.glob, 1), p.device IS NOT d.device, o.id) AS rank
    FROM gpu_op o CROSS JOIN temp.launched l ON l.launch = o.call
        JOIN gpu_place p ON p.id = o.place JOIN call c ON c.id = l.call LEFT JOIN stream s ON s.id = c.stream
        LEFT JOIN context_device d ON d.context = coalesce(c.context, s.context)
        LEFT JOIN named w ON w.kind = l.kind
        LEFT JOIN gpu_shape h ON h.id = o.shape LEFT JOIN gpu_name n ON n.id = h.name
    WHERE o.kind = 1)
WHERE rank = 1;
UPDATE collective SET operation = (SELECT operation FROM temp.ran r WHERE r.call = collective.call);
DROP TABLE temp.of_call;
DROP TABLE temp.launched;
DROP TABLE temp.ran;
