-- What the estimate of GPU times from samples reads and writes.

-- name: samples
-- Those of the calls that have a row.
SELECT call, duration_ns, error_ns, one_of FROM gpu_sample WHERE call IS NOT NULL ORDER BY call;

-- name: threads
SELECT id, process, process IN (SELECT process FROM gpu_sample) FROM thread;

-- name: kernel_names
-- Kernels with one name are alike, whichever process loaded them.
SELECT id, CASE WHEN name IS NULL THEN 0 ELSE dense_rank() OVER (ORDER BY name) END FROM kernel;

-- name: apis
SELECT id, gpu_work, class = 'set' FROM api;

-- name: captures
SELECT process, stream, start_ns, end_ns FROM temp.capture WHERE process IN (SELECT process FROM gpu_sample)
ORDER BY process, stream, start_ns;

-- name: add_row
INSERT INTO sampled_total (kind, kernel, api, launches, samples, total_ns, error_ns)
VALUES (?1, nullif(?2, 0), nullif(?3, 0), ?4, ?5, nullif(?6, -1), nullif(?7, -1));
