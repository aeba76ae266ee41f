#ifndef GV_COLLECT_PYTHON_CODE_H
#define GV_COLLECT_PYTHON_CODE_H
#include "report/collect/ingest.h"
#include <errno.h>
struct gv_python_place {
    const char *file, *function;
    int32_t line;
    bool is_hidden;
};
static inline int gv_python_code_find(struct gv_ingest *i, uint32_t n, uint32_t x,
                                      struct gv_python_place *p)
{
    (void)i;
    (void)n;
    (void)x;
    (void)p;
    return -ENOENT;
}
static inline int gv_python_code_store(struct gv_ingest *i, const struct gv_record_python_code *r,
                                       const char *t, size_t b)
{
    (void)i;
    (void)r;
    (void)t;
    (void)b;
    return 0;
}
#endif
