-- What a collector that resumes a process reads: each row, and the parts of its key. ?1 is the
-- process.

-- name: threads
SELECT id, serial FROM thread WHERE process = ?1;

-- name: places
-- The first part is enum gv_place.
SELECT id, 1, handle, 0 FROM context WHERE process = ?1
UNION ALL SELECT id, 2, handle, 0 FROM stream WHERE process = ?1 AND kind = 'created'
UNION ALL SELECT id, 3, context, 0 FROM stream WHERE process = ?1 AND kind = 'legacy default'
UNION ALL SELECT id, 4, context, thread FROM stream
WHERE process = ?1 AND kind = 'per-thread default'
UNION ALL SELECT context, 5, id, 0 FROM stream WHERE process = ?1 AND context IS NOT NULL;

-- name: kernels
SELECT id, number FROM kernel WHERE process = ?1;

-- name: modules
SELECT id, number FROM module WHERE process = ?1;

-- name: gpu_names
SELECT id, number FROM gpu_name WHERE process = ?1;

-- name: gpu_shapes
SELECT id, number FROM gpu_shape WHERE process = ?1;

-- name: gpu_places
SELECT id, device, context, stream FROM gpu_place WHERE process = ?1;

-- name: range_texts
SELECT id, number FROM range_text WHERE process = ?1 AND number IS NOT NULL;
