/*
 * What a process's records call by a number or a handle: hooked calls, kernels, modules, contexts,
 * streams. A row of each is added when it is first seen. 0 or -errno.
 */
#ifndef GV_COLLECT_INGEST_THINGS_H
#define GV_COLLECT_INGEST_THINGS_H

#include "report/collect/ingest_state.h"

/* Adds the row just inserted to those known. */
int gv_ingest_remember(struct gv_ingest *ingest, struct gv_known *known, const struct gv_key *key,
                       int64_t *id);

int gv_ingest_intern_api(struct gv_ingest *ingest, uint32_t number,
                         const struct gv_ingest_api **api);

/* *id is 0 for number or handle 0. */
int gv_ingest_intern_kernel(struct gv_ingest *ingest, uint32_t number, int64_t *id);
int gv_ingest_intern_module(struct gv_ingest *ingest, uint32_t number, int64_t *id);
int gv_ingest_intern_context(struct gv_ingest *ingest, uint64_t handle, int64_t *id);

/* The stream and context of a call, for the thread. */
int gv_ingest_intern_place(struct gv_ingest *ingest, struct gv_ingest_thread *thread,
                           const struct gv_ingest_api *api, const struct gv_record_call *call);

/* What another collector has stored of the process. */
int gv_ingest_things_resume(struct gv_ingest *ingest);

#endif
