-- The drivers and libraries that load code late: after the first launch of their process.
SELECT p.driver_version AS driver, COALESCE(l.library, l.kind) AS loaded_library, COUNT(DISTINCT l.trace) AS traces,
    CAST(SUM(l.times) AS BIGINT) AS late_loads, ROUND(SUM(l.load_ns / 1e9), 3) AS load_s, ROUND(SUM(COALESCE(l.wait_ns, 0) / 1e9), 3) AS waited_s,
    ROUND(MAX(l.most_ns) / 1e6, 3) AS longest_ms
FROM loads l JOIN processes p ON p.trace = l.trace AND p.process = l.process
WHERE l.late = 1
GROUP BY p.driver_version, COALESCE(l.library, l.kind)
ORDER BY load_s DESC, driver, loaded_library
LIMIT 20
