-- name: unseen
-- What of the GPU's side is missing, in words; no row: nothing is.
SELECT 'GPU activity of process ' || pid || ' was not recorded: '
    || coalesce(gpu_why, CASE gpu WHEN 'off' THEN 'GPUVERIFY_GPU=off' ELSE gpu END)
FROM processes WHERE gpu <> 'cupti'
UNION ALL
SELECT words || ': its last GPU activity may be missing' FROM {running}
UNION ALL
SELECT 'part of the GPU activity of process ' || pid || ' is missing' FROM processes
WHERE ended = 'killed' OR id IN (SELECT process FROM gpu_change WHERE gpu IN ('other', 'stopped', 'between'))
    OR id IN (SELECT process FROM losses WHERE what LIKE 'GPU %' AND count > 0)
LIMIT 1;
