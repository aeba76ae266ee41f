-- What statements of several files share.

-- define: in_part(process, thread, start)
-- ?1 to ?4 are a struct gv_totals_part: process, thread, from, to.
(?1 = 0 OR {process} = ?1) AND (?2 = 0 OR {thread} = ?2) AND {start} >= ?3 AND {start} < ?4

-- define: in_package(file)
-- Whether a frame's file belongs to an installed package or to Python itself.
coalesce({file} LIKE '%/site-packages/%' OR {file} LIKE '%/dist-packages/%'
    OR {file} GLOB '*/lib/python3.*/*' OR {file} LIKE '<frozen %', 0)

-- define: is_system(kind, library)
-- Whether a frame is CUDA's own (report/analyse/names/runtime_frames.h), or the C library's, whose
-- start-up code is below every main().
({kind} = 'runtime' OR coalesce({library} GLOB '*/libc.so.6' OR {library} GLOB '*/libc-2.*.so'
    OR {library} GLOB '*/libpthread[-.]*' OR {library} GLOB '*/ld-linux*', 0))
