/* The record of each version for each kind, and the offsets of fields that all versions share. */
#ifndef GV_TESTS_SIM_CUPTI_RECORDS_H
#define GV_TESTS_SIM_CUPTI_RECORDS_H

#include "tests/sim/cupti/cupti_sim.h"

#if GV_CUPTI_API >= 130000
typedef CUpti_ActivityKernel10 gv_kernel;
typedef CUpti_ActivityMemcpy6 gv_memcpy;
typedef CUpti_ActivitySynchronization2 gv_wait;
typedef CUpti_ActivityGraphTrace2 gv_graph;
typedef CUpti_ActivityOverhead3 gv_overhead;
typedef CUpti_ActivityJit2 gv_jit;
#elif GV_CUPTI_API >= 19
typedef CUpti_ActivityKernel9 gv_kernel;
typedef CUpti_ActivityMemcpy5 gv_memcpy;
typedef CUpti_ActivitySynchronization gv_wait;
typedef CUpti_ActivityGraphTrace gv_graph;
typedef CUpti_ActivityOverhead2 gv_overhead;
typedef CUpti_ActivityJit gv_jit;
#else
typedef CUpti_ActivityKernel8 gv_kernel;
typedef CUpti_ActivityMemcpy5 gv_memcpy;
typedef CUpti_ActivitySynchronization gv_wait;
typedef CUpti_ActivityGraphTrace gv_graph;
typedef CUpti_ActivityOverhead gv_overhead;
typedef CUpti_ActivityJit gv_jit; /* not a kind of this version */
#endif
typedef CUpti_ActivityMemset4 gv_memset;
typedef CUpti_ActivityMemcpyPtoP4 gv_peer;
typedef CUpti_ActivityAPI gv_call;
typedef CUpti_ActivityExternalCorrelation gv_external;

#define GV_RECORD_HAS(type, field, at)                                                             \
    _Static_assert(offsetof(type, field) == (at), #type "." #field " is where clients look")
GV_RECORD_HAS(gv_kernel, registersPerThread, 6);
GV_RECORD_HAS(gv_kernel, start, 16);
GV_RECORD_HAS(gv_kernel, end, 24);
GV_RECORD_HAS(gv_kernel, deviceId, 40);
GV_RECORD_HAS(gv_kernel, contextId, 44);
GV_RECORD_HAS(gv_kernel, streamId, 48);
GV_RECORD_HAS(gv_kernel, gridX, 52);
GV_RECORD_HAS(gv_kernel, blockX, 64);
GV_RECORD_HAS(gv_kernel, staticSharedMemory, 76);
GV_RECORD_HAS(gv_kernel, dynamicSharedMemory, 80);
GV_RECORD_HAS(gv_kernel, localMemoryPerThread, 84);
GV_RECORD_HAS(gv_kernel, correlationId, 92);
GV_RECORD_HAS(gv_kernel, name, 104);
GV_RECORD_HAS(gv_kernel, graphNodeId, 144);
GV_RECORD_HAS(gv_memcpy, bytes, 8);
GV_RECORD_HAS(gv_memcpy, start, 16);
GV_RECORD_HAS(gv_memcpy, streamId, 40);
GV_RECORD_HAS(gv_memcpy, correlationId, 44);
GV_RECORD_HAS(gv_peer, streamId, 40);
GV_RECORD_HAS(gv_peer, correlationId, 60);
GV_RECORD_HAS(gv_memset, bytes, 8);
GV_RECORD_HAS(gv_memset, streamId, 40);
GV_RECORD_HAS(gv_memset, correlationId, 44);
GV_RECORD_HAS(gv_graph, correlationId, 4);
GV_RECORD_HAS(gv_graph, start, 8);
GV_RECORD_HAS(gv_overhead, start, 24);
GV_RECORD_HAS(gv_jit, start, 16);
GV_RECORD_HAS(gv_wait, start, 8);
#undef GV_RECORD_HAS

#endif
