/*
 * The spool: what one process has recorded, in memory that outlives it.
 *
 * One file per process, mapped shared by the process (the writer) and by the collector (the
 * reader). Everything in it has a fixed size and a fixed place, so that a reader can make sense of
 * whatever a process left behind when it was killed between two instructions, and can refuse what
 * is no spool of ours without following a single pointer.
 *
 *   header | names of the calls | thread slots | segment 0 | segment 1 | ...
 *
 * A thread writes its records into a segment of its own and publishes each one by a release store
 * of `published`. A full segment is closed and the next one taken from the free list; the reader
 * gives a segment back when its records are safe in the trace. So one writer and one reader meet in
 * a segment, and nobody ever waits.
 *
 * Fields marked [w] are written by the process, [r] by the reader, [wr] by both.
 * Little-endian, the same layout on x86-64 and aarch64. Any change here is a new GV_SPOOL_VERSION.
 */
#ifndef GV_TRACE_SPOOL_H
#define GV_TRACE_SPOOL_H

#include <stdatomic.h>
#include <stdint.h>

#define GV_SPOOL_MAGIC   "GVSPOOL"
#define GV_SPOOL_VERSION 1u
#define GV_SPOOL_SUFFIX  ".spool"

#define GV_SPOOL_SEGMENT_BYTES 16384u
#define GV_SPOOL_RECORD_BYTES  64u
/* The first record's place holds the segment's header. */
#define GV_SPOOL_SEGMENT_RECORDS (GV_SPOOL_SEGMENT_BYTES / GV_SPOOL_RECORD_BYTES - 1)
#define GV_SPOOL_SLOTS           1024u
#define GV_SPOOL_CLASSES         32u
#define GV_SPOOL_NO_SEGMENT      UINT32_MAX
#define GV_SPOOL_ARGUMENTS_BYTES 4096u
#define GV_SPOOL_PATH_BYTES      1024u
#define GV_SPOOL_COMM_BYTES      16u

enum gv_record_kind {
    GV_RECORD_NONE = 0,
    GV_RECORD_CALL = 1,   /* one outermost call; closes its group */
    GV_RECORD_LOAD = 2,   /* one explicit load of code; followed by its text */
    GV_RECORD_NAME = 3,   /* a kernel number gets its name; followed by its text */
    GV_RECORD_TEXT = 4,   /* a piece of the text of the LOAD or NAME before it */
    GV_RECORD_UNLOAD = 5, /* a module number is void from now on */
};

/*
 * Records of one thread that belong together stand one after the other, all but the last flagged
 * MORE. A reader commits whole groups only. A load inside a call stands before that call's record
 * and names its start in `outer_start_ns`.
 */
enum gv_record_flags {
    GV_RECORD_MORE = 1u << 0,       /* the group goes on */
    GV_RECORD_HAS_STREAM = 1u << 1, /* `stream` is known (0 is the default stream) */
    GV_RECORD_HAS_BYTES = 1u << 2,
    GV_RECORD_HAS_CONTEXT = 1u << 3,
    GV_RECORD_NESTED = 1u << 4,  /* LOAD: made inside another hooked call */
    GV_RECORD_UNWOUND = 1u << 5, /* CALL: left by an exception; `result` means nothing */
};

struct gv_record_head {
    uint8_t kind;
    uint8_t flags;
    uint16_t api; /* index into the spool's names; TEXT: bytes used */
    int32_t result;
};

struct gv_record_call {
    struct gv_record_head head;
    uint64_t start_ns; /* of the session's clock, see struct gv_clock */
    uint64_t duration_ns;
    uint64_t stream;  /* handle */
    uint64_t context; /* handle */
    uint64_t bytes;
    uint64_t object;      /* pointer or handle that the call made or took; 0: none */
    uint32_t kernel;      /* number, see NAME; 0: none or unknown */
    uint32_t correlation; /* CUPTI's; 0: none */
};

enum gv_load_kind {
    GV_LOAD_MODULE = 0, /* cuModuleLoadData and its like */
    GV_LOAD_FILE = 1,
    GV_LOAD_LIBRARY = 2,
    GV_LOAD_LINK = 3, /* input of a linker */
};

enum gv_image_kind {
    GV_IMAGE_UNKNOWN = 0,
    GV_IMAGE_CUBIN = 1,
    GV_IMAGE_PTX = 2,
    GV_IMAGE_FATBIN = 3,
};

struct gv_record_load {
    struct gv_record_head head;
    uint64_t start_ns;
    uint64_t duration_ns;
    uint64_t bytes; /* of the image, if HAS_BYTES */
    uint64_t hash;  /* of size and samples of the image; 0: unknown */
    uint64_t handle;
    uint64_t outer_start_ns; /* the call that this load stands in; its own when outermost */
    uint32_t module;         /* number, counted from 1 in each process; 0: the load failed */
    uint8_t load_kind;
    uint8_t image_kind;
    uint16_t text_bytes; /* file name or link input's name, in the TEXT records that follow */
};

struct gv_record_name {
    struct gv_record_head head;
    uint64_t at_ns;
    uint64_t handle;
    uint32_t kernel; /* number, counted from 1 in each process, never used again */
    uint32_t module; /* number of the module it lives in; 0: unknown */
    uint32_t text_bytes;
    uint32_t reserved32;
    uint64_t reserved[3];
};

struct gv_record_unload {
    struct gv_record_head head;
    uint64_t at_ns;
    uint64_t handle;
    uint32_t module;
    uint32_t reserved32;
    uint64_t reserved[4];
};

#define GV_RECORD_TEXT_BYTES 56u

struct gv_record_text {
    struct gv_record_head head; /* api: bytes used of `text` */
    char text[GV_RECORD_TEXT_BYTES];
};

/* As much as a name or a path in a record may be long; the rest is cut, ending in "...". */
#define GV_RECORD_TEXT_LIMIT 2048u

union gv_record {
    struct gv_record_head head;
    struct gv_record_call call;
    struct gv_record_load load;
    struct gv_record_name name;
    struct gv_record_unload unload;
    struct gv_record_text text;
    unsigned char bytes[GV_SPOOL_RECORD_BYTES];
};

enum gv_segment_state {
    GV_SEGMENT_FREE = 0,
    GV_SEGMENT_OPEN = 1,   /* its thread writes into it */
    GV_SEGMENT_CLOSED = 2, /* full, or its thread is gone: no more records will come */
};

struct gv_spool_segment {
    _Atomic uint32_t state;     /* [wr] OPEN and CLOSED by the writer, FREE by the reader */
    _Atomic uint32_t published; /* [w] records that can be read */
    uint64_t thread;       /* [w] serial number of the thread, counted from 1 in each process */
    uint64_t first_record; /* [w] this thread's records before this segment */
    uint32_t tid;          /* [w] */
    uint32_t sequence;     /* [w] 0, 1, 2, ... for this thread */
    _Atomic uint32_t next_free; /* [wr] while FREE: the next one on the free list */
    uint32_t reserved32;
    uint64_t reserved;
    char comm[GV_SPOOL_COMM_BYTES]; /* [w] the thread's name when it took the segment */
    union gv_record records[GV_SPOOL_SEGMENT_RECORDS];
};

/* The call that a thread is in. Written with relaxed stores, `api` last and with release. */
struct gv_spool_slot {
    _Atomic uint64_t thread; /* [w] serial number; 0: the slot is free */
    _Atomic uint64_t start_ns;
    _Atomic uint32_t api_plus_one; /* 0: in no call */
    _Atomic uint32_t tid;
    _Atomic uint64_t detail; /* kernel number for a launch; 0: unknown */
    _Atomic uint64_t stream;
    char comm[GV_SPOOL_COMM_BYTES];
    uint64_t reserved[9];
};

enum gv_clock_kind {
    GV_CLOCK_MONOTONIC = 1, /* clock_gettime(CLOCK_MONOTONIC) */
    GV_CLOCK_TSC = 2,       /* base_ns + ((ticks - base_ticks) * multiplier >> 32) */
};

/* How every process of a session, and its collector, reads the time. Set once, then constant. */
struct gv_clock {
    uint32_t kind;
    uint32_t reserved32;
    uint64_t base_ticks;
    uint64_t base_ns; /* CLOCK_MONOTONIC at base_ticks */
    uint64_t multiplier;
    int64_t unix_offset_ns; /* Unix time = clock + this */
    uint64_t epoch_ns;      /* the session's start: 0 of the trace's times */
};

enum gv_process_state {
    GV_PROCESS_RUNNING = 0,
    GV_PROCESS_EXITING = 1, /* it waits for `drained`, or has stopped waiting */
};

struct gv_spool_lost {
    _Atomic uint64_t calls[GV_SPOOL_CLASSES]; /* by class */
    _Atomic uint64_t names;
    _Atomic uint64_t loads;
    _Atomic uint64_t threads; /* threads that found no slot: in_flight does not know them */
};

struct gv_spool_header {
    char magic[8];
    uint32_t version;
    uint32_t header_bytes;
    char session[64];  /* [w] the session's id */
    uint64_t identity; /* [w] random: tells this spool from every other, also after pids wrapped */

    /* [w] the process */
    uint32_t pid;
    uint32_t parent_pid;
    uint64_t process_start_ticks;   /* field 22 of /proc/PID/stat */
    uint64_t attached_ns;           /* clock when it began to record */
    uint32_t forked;                /* 1: a fork without exec of a process that recorded */
    _Atomic int32_t driver_version; /* cuDriverGetVersion; 0: unknown yet */
    struct gv_clock clock;

    /* [w] geometry; a reader checks it against the constants above and the file's size */
    uint32_t names_offset;
    uint32_t names_bytes;
    uint32_t names_count;
    uint32_t slots_offset;
    uint32_t slots_count;
    uint32_t segments_offset;
    uint32_t segment_limit; /* as many as GPUVERIFY_SPOOL_MB allows */
    uint32_t reserve_segments;
    _Atomic uint32_t segments_allocated; /* the file holds this many for sure */
    _Atomic uint32_t growing;
    _Atomic uint64_t free_head;  /* [wr] tag << 32 | segment; the tag changes with every change */
    _Atomic uint32_t free_count; /* [wr] about how many are free */

    _Atomic uint32_t state;   /* [w] enum gv_process_state */
    _Atomic uint32_t drained; /* [r] futex: 1 when all of an exiting process is in the trace */
    _Atomic uint32_t exit_code_known;
    _Atomic int32_t exit_code;     /* [w] as given to exit() */
    _Atomic uint64_t ended_ns;     /* [w] clock when it began to exit; 0: not yet, or never */
    _Atomic uint64_t threads_seen; /* [w] serial numbers given out */
    struct gv_spool_lost lost;     /* [w] */

    uint32_t arguments_bytes;
    char executable[GV_SPOOL_PATH_BYTES];
    char arguments[GV_SPOOL_ARGUMENTS_BYTES]; /* as in /proc/PID/cmdline: NUL after each */
    char directory[GV_SPOOL_PATH_BYTES];
    char program[64]; /* what to call it: "train" for python train.py, otherwise argv[0]'s name */
};

/* The names of the calls: names_count of these, so that any later version can read the spool. */
struct gv_spool_name {
    uint8_t class_index;
    char class_name[15];
    char name[64];
};

_Static_assert(sizeof(union gv_record) == GV_SPOOL_RECORD_BYTES, "records are 64 bytes");
_Static_assert(sizeof(struct gv_record_call) == 64, "call record");
_Static_assert(sizeof(struct gv_record_load) == 64, "load record");
_Static_assert(sizeof(struct gv_record_name) == 64, "name record");
_Static_assert(sizeof(struct gv_record_unload) == 64, "unload record");
_Static_assert(sizeof(struct gv_spool_segment) == GV_SPOOL_SEGMENT_BYTES, "segment size");
_Static_assert(sizeof(struct gv_spool_slot) == 128, "slot size");
_Static_assert(sizeof(struct gv_spool_name) == 80, "name size");

#endif
