/*
 * NVTX, as a tool sees it, and how libgpuverify-nvtx.so hands it to libgpuverify.so.
 *
 * A module with NVTX looks up its tool at its first call: it opens the library that
 * NVTX_INJECTION64_PATH names, and calls its InitializeInjectionNvtx2() with a function that gives
 * out tables. A table has, for each of the module's NVTX functions, a pointer to the slot where the
 * tool puts its own function. Declared here is what we use, as versions 2 and 3 have it; NVIDIA's
 * headers declare it together with the code for programs.
 */
#ifndef GV_TRACE_NVTX_H
#define GV_TRACE_NVTX_H

#include <stddef.h>
#include <stdint.h>

#define GV_NVTX_FILE     "libgpuverify-nvtx.so"
#define GV_NVTX_VARIABLE "NVTX_INJECTION64_PATH"
/* What NVTX_INJECTION64_PATH was, if it named another tool; set by the library, not a setting. */
#define GV_NVTX_TOOL "GPUVERIFY_NVTX_TOOL"

#define GV_NVTX_INITIALIZE     "InitializeInjectionNvtx2"
#define GV_NVTX_EXTEND         "InitializeInjectionNvtxExtension"
#define GV_NVTX_OUR_INITIALIZE "gv_nvtx_attach"
#define GV_NVTX_OUR_EXTEND     "gv_nvtx_attach_extension"

typedef void gv_nvtx_function(void);
typedef const void *gv_nvtx_get_table(uint32_t table);
typedef int gv_nvtx_initialize(gv_nvtx_get_table *get_table); /* 0: it failed */

/* Exported by libgpuverify.so: makes its functions those of the module, in front of the tool's,
 * which may be NULL. As a tool's own initialisation: 0 if there is nobody to call. */
typedef int gv_nvtx_attach_function(gv_nvtx_get_table *get_table, gv_nvtx_initialize *tool);

/* What an extension of NVTX, such as payloads or counters, asks its tool to fill: struct
 * nvtxExtModuleInfo_t. A slot is 0 until the tool puts its function there. */
struct gv_nvtx_extension {
    uint16_t version;
    uint16_t bytes;
    uint16_t number;
    uint16_t compatible;
    size_t segments_count;
    struct gv_nvtx_segment {
        size_t number;
        size_t count;
        intptr_t *slots;
    } * segments;
};

#define GV_NVTX_PAYLOADS   2u /* an extension */
#define GV_NVTX_IS_ENABLED 7u /* its slot of nvtxDomainIsEnabled() */

typedef int gv_nvtx_extend(struct gv_nvtx_extension *extension); /* 0: it failed */
/* Exported by libgpuverify.so: the same for an extension, all of which is the tool's except that a
 * domain is enabled. Python's nvtx says nothing in others. */
typedef int gv_nvtx_extend_function(struct gv_nvtx_extension *extension, gv_nvtx_extend *tool);

#define GV_NVTX_TABLE_CALLBACKS 1u

struct gv_nvtx_callbacks {
    size_t struct_bytes;
    /* 0: there is no such table */
    int (*get_functions)(int group, gv_nvtx_function ****slots, unsigned *count);
};

/* Groups of functions. */
enum gv_nvtx_group {
    GV_NVTX_CORE = 1,
    GV_NVTX_CORE2 = 5,
    GV_NVTX_GROUPS = 7, /* more than there are */
};

/* struct nvtxEventAttributes_t */
struct gv_nvtx_event {
    uint16_t version;
    uint16_t bytes;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type;
    int32_t reserved;
    uint64_t payload;
    int32_t message_type;
    const void *message;
};

enum gv_nvtx_message {
    GV_NVTX_MESSAGE_TEXT = 1,
    GV_NVTX_MESSAGE_WIDE = 2,
    GV_NVTX_MESSAGE_REGISTERED = 3,
};

#define GV_NVTX_COLOR_ARGB 1

#endif
