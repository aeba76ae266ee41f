-- define: known
-- Of the stack ?1, down to main(), without CUDA's own.
SELECT * FROM frames
WHERE stack = ?1 AND kind <> 'runtime'
    AND (kind = 'python' OR depth <= coalesce((SELECT max(depth) FROM frames
        WHERE stack = ?1 AND kind <> 'python' AND function = 'main'), depth))

-- define: is_told
-- Of those: Python's; or else of the program's files; or its functions; or what there is.
CASE WHEN EXISTS (SELECT 1 FROM known WHERE kind = 'python') THEN kind = 'python'
    WHEN EXISTS (SELECT 1 FROM known WHERE file IS NOT NULL AND NOT {is_system(kind, library)})
        THEN file IS NOT NULL AND NOT {is_system(kind, library)}
    WHEN EXISTS (SELECT 1 FROM known WHERE function IS NOT NULL AND NOT {is_system(kind, library)})
        THEN function IS NOT NULL AND NOT {is_system(kind, library)}
    ELSE function IS NOT NULL OR library IS NOT NULL END

-- name: frames
-- The innermost ?2 frames of the stack ?1, down to main(), without CUDA's own, and the program's
-- innermost Python frame; only this one if ?2 is 1. Frames of libraries are only taken if none is of
-- the program itself.
WITH known AS ({known})
SELECT function, library, file, line, address, kind = 'python', depth
FROM (SELECT *, row_number() OVER (ORDER BY depth) AS number,
        row_number() OVER (ORDER BY {is_of_others(kind, file, library)}, depth) AS of_program
    FROM known
    WHERE {is_told})
WHERE iif(?2 = 1, of_program = 1, number <= ?2 OR of_program = 1 AND kind = 'python')
ORDER BY depth;

-- name: line
-- What "frames" has if ?2 is 1, for a third of the time: nothing is numbered.
WITH known AS ({known})
SELECT function, library, file, line, address, kind = 'python', depth
FROM known
WHERE {is_told}
ORDER BY {is_of_others(kind, file, library)}, depth LIMIT 1;

-- name: frames_without_python
SELECT function, library FROM frames
WHERE stack = ?1 AND kind <> 'runtime' AND function IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM frames WHERE stack = ?1 AND kind = 'python')
ORDER BY depth;

-- name: place_known
SELECT place FROM stack_place WHERE stack = ?1;

-- name: place_find
-- ?1 to ?4: as the first columns of frames
SELECT id FROM place WHERE file IS ?3 AND line IS ?4 AND function IS ?1 AND library IS ?2;

-- name: place_add
INSERT INTO place (function, library, file, line) VALUES (?1, ?2, ?3, ?4);

-- name: place_keep
INSERT INTO stack_place (stack, place) VALUES (?1, ?2);

-- name: places_hidden
SELECT 1 FROM temp.sqlite_master WHERE name = 'stack_place';

-- name: places_copy
INSERT INTO temp.place SELECT * FROM main.place;
INSERT INTO temp.stack_place SELECT * FROM main.stack_place;
