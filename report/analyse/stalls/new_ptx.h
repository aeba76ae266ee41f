/*
 * Calls that loaded PTX which the run had not loaded before. The driver compiles it, unless its
 * cache has it from an earlier run.
 */
#ifndef GV_ANALYSE_STALLS_NEW_PTX_H
#define GV_ANALYSE_STALLS_NEW_PTX_H

/* A query with one column, the ids of the calls. */
#define GV_NEW_PTX_CALLS_SQL                                                                       \
    "(SELECT call FROM (SELECT call, image, row_number() OVER (PARTITION BY hash ORDER BY"         \
    " start_ns) AS time FROM load) WHERE image IS 'ptx' AND time = 1 AND call IS NOT NULL)"

/* Whether a row `s` of stalls may be compilation instead of a wait: only the GPU side tells them
 * apart. */
#define GV_NEW_PTX_UNSURE_SQL                                                                      \
    "(s.cause = 'module-load' AND s.confidence = 'inferred' AND s.call IN " GV_NEW_PTX_CALLS_SQL ")"

#endif
