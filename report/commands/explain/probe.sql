-- What is read from a result of `gpuverify probe`, ?1.

-- define: is(name)
json_extract(?1, '$.{name}')

-- define: of_call(name)
json_extract(c.value, '$.{name}')

-- define: beside_blocker
coalesce((SELECT CASE a.kind WHEN 'alloc-host' THEN 'pin' WHEN 'free-host' THEN 'unpin'
    WHEN 'host-unregister' THEN 'unregister' END
    FROM call b JOIN api a ON a.id = b.api WHERE b.id = ?4), 'load')

-- name: probe_fits
-- When it was measured, if it speaks about the driver and a GPU of the process ?2.
SELECT {is(unix_s)} WHERE json_valid(?1) AND {is(format)} = 'gpuverify probe 1'
    AND {is(driver_version)} = (SELECT driver_version FROM process WHERE id = ?2)
    AND (NOT EXISTS (SELECT 1 FROM device WHERE process = ?2 AND name IS NOT NULL)
        OR {is(gpu)} IN (SELECT name FROM device WHERE process = ?2));

-- name: probe_finds
-- What it says about the cause ?2; about the call ?3 behind the
-- call with the id ?4 if it can. The runtime's calls and the
-- driver's later versions count as the call that the probe made.
SELECT {is(gpu)}, {is(driver)}, {of_call(mode)}, {of_call(call)}, {of_call(with)},
    {of_call(waits)}, {of_call(idle_ns)}, {of_call(busy_ns)}, {of_call(kernel_ns)},
    {of_call(beside)}
FROM json_each(?1, '$.calls') c
WHERE {of_call(cause)} = ?2 AND {of_call(status)} = 'measured'
ORDER BY (?3 GLOB {of_call(call)} || '*') * length({of_call(call)}) DESC,
    {of_call(beside)} = {beside_blocker} DESC,
    ({of_call(beside)} = 'load') = ({beside_blocker} = 'load') DESC,
    {of_call(mode)} = 'LAZY' DESC LIMIT 1;
