-- What the sections that are pictures for people show.

-- name: lanes
SELECT lane, stretch * s.value, (stretch + 1) * s.value, taken_ns FROM timeline, fact s
WHERE s.key = 'stretch_ns' ORDER BY lane, stretch;

-- name: longest_stalls
SELECT start_ns, duration_ns, wait_ns + jit_ns FROM stalls
WHERE NOT expected AND start_ns >= :from AND start_ns < :to
    AND (:process = 0 OR process = :process) AND (:thread = 0 OR thread = :thread)
ORDER BY wait_ns + jit_ns DESC LIMIT 100000;

-- name: sampled_devices
SELECT s.uuid, (SELECT gv_device(d.name) FROM device d WHERE d.uuid = s.uuid), count(*)
FROM sample s WHERE s.at_ns BETWEEN ?1 AND ?2 GROUP BY 1 ORDER BY 1 LIMIT 64;
