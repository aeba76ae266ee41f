-- Names of native frames, and frames of inlined functions.

-- name: objects
SELECT id, path, build_id FROM object
WHERE path IS NOT NULL AND id IN (SELECT object FROM frame WHERE function IS NULL);

-- name: begin
-- A frame is in many stacks: without the index, each name would be looked for in all of them. inlined: the functions that
-- are inlined at an address; level: how many are around it.
CREATE INDEX nameless ON frame (object, address) WHERE function IS NULL;
CREATE TEMP TABLE inlined (object INTEGER, address INTEGER, level INTEGER, function TEXT, file TEXT, line INTEGER,
    PRIMARY KEY (object, address, level)) WITHOUT ROWID;

-- name: addresses
-- Of the object ?1.
SELECT DISTINCT address FROM frame WHERE object = ?1 AND function IS NULL ORDER BY address;

-- name: widen
-- Adds frames of inlined functions, without an address, before the frame that they are in; an earlier search may have done
-- so. shift: how far that one moves outwards. ?1: the depth from which frames are those around Python's.
CREATE TEMP TABLE widened AS SELECT * FROM (
    SELECT f.stack AS stack, f.depth AS depth, f.library AS library, f.object AS object, f.address AS address,
        n.count AS count, sum(n.count) OVER (PARTITION BY f.stack, f.depth >= ?1 ORDER BY f.depth) AS shift
    FROM frame f LEFT JOIN (SELECT object, address, count(*) AS count FROM temp.inlined GROUP BY 1, 2) n
        ON n.object = f.object AND n.address = f.address AND NOT EXISTS (SELECT 1 FROM frame b
            WHERE b.stack = f.stack AND b.depth = f.depth - 1 AND b.object = f.object AND b.address IS NULL)
    WHERE f.kind <> 'python' AND f.stack IN (SELECT stack FROM frame JOIN temp.inlined USING (object, address)))
WHERE shift > 0;
UPDATE frame SET depth = -1 - frame.depth - w.shift FROM temp.widened w
WHERE frame.stack = w.stack AND frame.depth = w.depth;
UPDATE frame SET depth = -1 - depth WHERE depth < 0;
INSERT INTO frame (stack, depth, kind, function, library, file, line, object)
SELECT w.stack, w.depth + w.shift - 1 - i.level, 'native', i.function, w.library, i.file, i.line, w.object
FROM temp.widened w JOIN temp.inlined i USING (object, address) WHERE w.count > 0;
DROP TABLE temp.widened;

-- name: end
DROP INDEX nameless;
DROP TABLE temp.inlined;
