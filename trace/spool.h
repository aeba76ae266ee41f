/*
 * The spool: one process's records, in memory that outlives the process.
 *
 * One file per process, mapped shared by the process (the writer) and by the collector (the
 * reader). Everything has a fixed size and offset. So a reader can use whatever a process left
 * behind when it was killed between two instructions, and can refuse a file that is not a spool
 * without following a pointer.
 *
 *    header | names of the calls | thread slots | segment 0 | segment 1 | ...
 *
 * A thread writes its records into its own segment, and publishes each one by a release store of
 * `published`. It closes a full segment and takes the next one from the free list. The reader gives
 * a segment back when its records are safe in the trace. So one writer and one reader share a
 * segment, and nobody ever waits.
 *
 * Fields marked [w] are written by the process, [r] by the reader, [wr] by both. Little-endian; the
 * same layout on x86-64 and aarch64. Any change here needs a new GV_SPOOL_VERSION.
 */
#ifndef GV_TRACE_SPOOL_H
#define GV_TRACE_SPOOL_H

#include "trace/environment.h"
#include "trace/own_cost.h"
#include "trace/rank.h"

#include <stdatomic.h>
#include <stdint.h>

#define GV_SPOOL_MAGIC   "GVSPOOL"
#define GV_SPOOL_VERSION 19u
#define GV_SPOOL_SUFFIX  ".spool"

#define GV_SPOOL_SEGMENT_BYTES 16384u
#define GV_SPOOL_RECORD_BYTES  64u
/* The segment's header takes the space of the first record. */
#define GV_SPOOL_SEGMENT_RECORDS (GV_SPOOL_SEGMENT_BYTES / GV_SPOOL_RECORD_BYTES - 1)
#define GV_SPOOL_SLOTS           1024u
#define GV_SPOOL_CLASSES         32u
#define GV_SPOOL_NO_SEGMENT      UINT32_MAX
#define GV_SPOOL_GROWTH_SEGMENTS 64u /* that get storage at once */
#define GV_SPOOL_ARGUMENTS_BYTES 4096u
#define GV_SPOOL_PATH_BYTES      1024u
#define GV_SPOOL_VARIABLE_BYTES  512u
#define GV_SPOOL_COMM_BYTES      16u

enum gv_record_kind {
    GV_RECORD_NONE = 0,
    GV_RECORD_CALL = 1,   /* one outermost call; closes its group */
    GV_RECORD_LOAD = 2,   /* one explicit load of code; followed by its text */
    GV_RECORD_NAME = 3,   /* the name of a kernel number; followed by its text */
    GV_RECORD_TEXT = 4,   /* a piece of the text of the record before it, of any kind */
    GV_RECORD_UNLOAD = 5, /* a module number is not valid any more */
    /* From here on: the GPU side, written by one thread of ours. */
    GV_RECORD_DEVICE = 6,    /* facts of a device; followed by its name */
    GV_RECORD_GPU_NAME = 7,  /* the number of a kernel's linked name; text follows */
    GV_RECORD_GPU_SHAPE = 8, /* the number of a kernel with its grid, block, registers and memory */
    GV_RECORD_GPU_OP = 9,    /* a kernel, copy, set or graph ran on a device */
    GV_RECORD_JIT = 10,      /* code was compiled, or found compiled in the cache */
    GV_RECORD_OVERHEAD = 11, /* the driver or CUPTI delayed the program */
    GV_RECORD_GPU_MODULE = 12, /* code came onto a device */
    /* Stacks. Native ones are copies in the ring, see struct gv_stack_copy. */
    GV_RECORD_PYTHON_FRAMES = 13, /* Python frames of the STACK before it, innermost first */
    GV_RECORD_STACK = 14,         /* the number of a stack; its Python frames follow */
    GV_RECORD_PYTHON_CODE = 16,   /* the number of a code object of Python; its texts follow */
    GV_RECORD_STACK_OF_CALL = 17, /* the stack of the group's call; before the call's record */
    GV_RECORD_POLL = 18,          /* one or more outermost calls that returned "not ready" */
    GV_RECORD_RUN_DELAY =
        19, /* how long the thread waited for a CPU; before a slow call's record */
    GV_RECORD_HOST_LAUNCH = 20,   /* the group's call launched a host function */
    GV_RECORD_HOST_FUNCTION = 21, /* a host function ran; a group of its own, of another thread */
    GV_RECORD_RECORDING = 22, /* what is seen of the GPU changed; who caused it follows as text */
    /* Written by a thread of ours that looks at the program's (preload/idle). */
    GV_RECORD_IDLE_SAMPLE = 23, /* what a thread did between its calls; text follows */
    GV_RECORD_STACK_COPY = 24,  /* the native side of the STACK before it is in the ring */
    /* The program's own words: NVTX, gpuverify.h (preload/ranges). */
    GV_RECORD_RANGE_TEXT = 25, /* the number of a text, which follows */
    GV_RECORD_RANGE = 26,      /* a range began, or a mark; its text follows if it has no number */
    GV_RECORD_RANGE_END = 27,
    GV_RECORD_CONTEXT = 28,    /* the device of a context, before the first call in it */
    GV_RECORD_CHANGE = 29,     /* recording was stopped or started */
    GV_RECORD_COLLECTIVE = 30, /* the group's call is a collective of NCCL */
    GV_RECORD_INSIDE = 31, /* a further call that CUPTI numbers, inside the group's call of NCCL */
    GV_RECORD_GPU_SAMPLE = 32, /* how long a call's work took, by two events (preload/sample) */
    GV_RECORD_GRAPH_NODE = 33, /* the group's call added a node to a graph, or cloned one */
};

/*
 * A group is a sequence of records of one thread; all but the last have the flag MORE. A reader
 * commits only whole groups. A load inside a call comes before that call's record, and has its
 * start in `outer_start_ns`.
 */
enum gv_record_flags {
    GV_RECORD_MORE = 1u << 0,       /* the group continues */
    GV_RECORD_HAS_STREAM = 1u << 1, /* `stream` is known (0 is the default stream) */
    GV_RECORD_HAS_BYTES = 1u << 2,
    GV_RECORD_HAS_CONTEXT = 1u << 3,
    GV_RECORD_NESTED = 1u << 4,       /* LOAD: made inside another hooked call */
    GV_RECORD_INSTANTIATED = 1u << 4, /* GRAPH_NODE: the call instantiates a graph */
    GV_RECORD_IS_GRAPH = 1u << 5,     /* GRAPH_NODE: it is a graph itself, a child */
    GV_RECORD_UNWOUND = 1u << 5,      /* CALL: left by an exception; `result` means nothing */
    GV_RECORD_IN_OBJECT = 1u << 6,    /* LOAD: the text is the file that the image is mapped from */
    GV_RECORD_REPRESENTS = 1u << 7,   /* STACK_OF_CALL: it is that of an earlier call of its site */
    GV_RECORD_HAS_SECOND = 1u << 7,   /* CALL: `stream` is a second object */
};

/* The second object of a call that makes physical memory: CUmemLocationType and the number. */
#define GV_MEMORY_LOCATION(type, id) ((uint64_t)(type) << 32 | (uint32_t)(id))
#define GV_LOCATION_DEVICE           1u

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
    uint64_t stream;  /* handle; HAS_SECOND: a second pointer or handle that the call took */
    uint64_t context; /* handle */
    uint64_t bytes;   /* without HAS_BYTES: how many nodes the graph has that it made; 0: unknown */
    uint64_t object;  /* pointer or handle that the call made or took; 0: none */
    uint32_t kernel;  /* number, see NAME; 0: none or unknown */
    uint32_t correlation; /* CUPTI's, or of a GPU_SAMPLE; 0: none */
};

/*
 * A group of its own. While its thread only polls, the record counts every further poll of the same
 * call and handles in place. The writer adds to `count`, and to the other two fields only if the
 * reader had not taken the record.
 */
struct gv_record_poll {
    struct gv_record_head head;
    uint64_t start_ns;         /* of the first */
    _Atomic uint64_t span_ns;  /* from there to the end of the last */
    _Atomic uint64_t total_ns; /* inside these calls; a taken record may lack the last one's */
    uint64_t stream;
    uint64_t context;
    uint64_t object;
    _Atomic uint64_t count; /* [wr] | GV_POLL_TAKEN */
};

#define GV_POLL_TAKEN (UINT64_C(1) << 63)

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
    uint64_t outer_start_ns; /* start of the call around this load; its own if outermost */
    uint32_t module;         /* number, counted from 1 in each process; 0: the load failed */
    uint8_t load_kind;
    uint8_t image_kind;
    uint16_t text_bytes; /* of the TEXT records that follow: the loaded file's name, the link
                            input's, or with IN_OBJECT that of the object with the image */
};

struct gv_record_name {
    struct gv_record_head head;
    uint64_t at_ns;
    uint64_t handle;
    uint32_t kernel; /* number, counted from 1 in each process, never reused */
    uint32_t module; /* number of its module; 0: unknown */
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

/* Device numbers are the driver's ordinals. 0 means unknown, except for `device`. */
struct gv_record_device {
    struct gv_record_head head; /* api: bytes of the name in the TEXT records that follow */
    uint8_t uuid[16];
    uint64_t memory_bytes;
    uint32_t device;
    uint32_t cc_major;
    uint32_t cc_minor;
    uint32_t multiprocessors;
    uint32_t clock_khz;
    uint32_t memory_clock_khz;
    uint64_t reserved;
};

struct gv_record_gpu_name {
    struct gv_record_head head;
    uint32_t number; /* counted from 1 in each process */
    uint32_t text_bytes;
    uint64_t reserved[6];
};

struct gv_record_gpu_shape {
    struct gv_record_head head;
    uint32_t number; /* counted from 1 in each process */
    uint32_t name;   /* number of a GPU_NAME */
    uint32_t grid[3];
    uint32_t block[3];
    uint32_t static_shared_bytes;
    uint32_t dynamic_shared_bytes;
    uint32_t local_bytes; /* of one thread */
    uint32_t registers;   /* of one thread */
    uint64_t reserved;
};

enum gv_gpu_op_kind {
    GV_GPU_KERNEL = 1,
    GV_GPU_COPY = 2,
    GV_GPU_SET = 3,
    GV_GPU_GRAPH = 4,
};

/* CUPTI's kind of copy, and of the memory on the host's side; both are below 16. */
#define GV_GPU_COPY_KIND(copy, memory) (((copy)&15u) | ((memory)&15u) << 4)

struct gv_record_gpu_op {
    struct gv_record_head head; /* api: enum gv_gpu_op_kind; result: COPY: GV_GPU_COPY_KIND */
    uint64_t start_ns;          /* 0: CUPTI does not know it */
    uint64_t duration_ns;
    uint64_t bytes;
    uint64_t graph_node; /* 0: launched by itself */
    uint32_t device;
    uint32_t context; /* CUPTI's numbers, not handles */
    uint32_t stream;
    uint32_t correlation;
    uint32_t shape; /* KERNEL: number of a GPU_SHAPE */
    uint32_t reserved;
};

/* Of the call with this number as its correlation, which is one of `one_of`. */
struct gv_record_gpu_sample {
    struct gv_record_head head; /* result: 1: its stream was busy until its work began; 0: idle */
    uint64_t start_ns;
    uint64_t duration_ns;    /* of its work, without */
    uint32_t bias_ns;        /* what the events took beside it, which is known so well: */
    uint32_t error_ns;       /* the standard error */
    uint32_t clock_error_ns; /* of the start */
    uint32_t correlation;
    uint32_t one_of;
    uint32_t reserved32;
    uint64_t reserved[2];
};

struct gv_record_jit {
    struct gv_record_head head; /* api: CUPTI's kind of entry; result: of operation */
    uint64_t start_ns;
    uint64_t duration_ns;
    uint64_t cache_bytes;
    uint32_t device;
    uint32_t correlation;
    uint64_t reserved[3];
};

struct gv_record_overhead {
    struct gv_record_head head;
    uint64_t start_ns;
    uint64_t duration_ns;
    uint32_t overhead; /* CUPTI's kind */
    uint32_t tid;      /* 0: not a thread's */
    uint32_t correlation;
    uint32_t reserved32;
    uint64_t reserved[3];
};

struct gv_record_gpu_module {
    struct gv_record_head head;
    uint64_t at_ns; /* on the calling thread, inside the call */
    uint64_t bytes;
    uint64_t hash;
    uint32_t module; /* CUPTI's number */
    uint32_t correlation;
    uint32_t tid;
    uint32_t context;
    uint64_t reserved[2];
};

/* STACK and STACK_OF_CALL */
struct gv_record_stack {
    struct gv_record_head head;
    uint32_t number;   /* STACK: counted from 1 in each process */
    uint32_t one_of;   /* STACK_OF_CALL: chosen at random, one of about so many calls; 0: not so */
    uint64_t function; /* STACK: the function that is its only frame; 0: none */
    uint64_t call_start_ns; /* STACK_OF_CALL: the call's start; its record may be lost */
    uint64_t serial;        /* STACK_OF_CALL: of the copy */
    uint32_t copy; /* STACK_OF_CALL: the copy's chunk plus one; 0, with REPRESENTS: the last stack
                      of the site */
    uint32_t site; /* STACK_OF_CALL: the site's number; 0: none */
    uint64_t reserved[2];
};

struct gv_record_context {
    struct gv_record_head head;
    uint64_t context; /* handle */
    uint32_t device;  /* the driver's ordinal */
    uint32_t reserved32;
    uint64_t reserved[5];
};

/* How long the thread has waited for a CPU since its start. Read at some time between the two
 * times below. */
struct gv_record_run_delay {
    struct gv_record_head head;
    uint64_t call_start_ns; /* the call's start; its record may be lost */
    uint64_t after_ns;      /* the end of the call, and */
    uint64_t before_ns;
    uint64_t delay_ns;
    uint64_t reserved[3];
};

/* HOST_LAUNCH and HOST_FUNCTION, in any order. */
struct gv_record_host {
    struct gv_record_head head;
    uint64_t number;      /* counted from 1 in each process */
    uint64_t start_ns;    /* of the function; HOST_LAUNCH: of the call, whose record may be lost */
    uint64_t duration_ns; /* of the function */
    uint32_t stack;       /* HOST_LAUNCH: number of a STACK with its address; 0: unknown */
    uint32_t reserved32;
    uint64_t reserved[3];
};

/* Kinds and types: trace/collective_kinds.def, trace/collective_types.def. */
#define GV_SEQUENCE_UNKNOWN UINT64_MAX

struct gv_record_collective {
    struct gv_record_head head; /* result: rank of the root or peer; -1: none */
    uint64_t call_start_ns;     /* of the call; its record may be lost */
    uint64_t communicator;      /* the same on all its ranks */
    uint64_t sequence;          /* from 0; GV_SEQUENCE_UNKNOWN */
    uint64_t count;             /* of elements, as the program gave it */
    int32_t rank;               /* -1: unknown, and the size */
    int32_t size;
    uint8_t collective;
    uint8_t type;
    uint8_t reserved8[6];
    uint64_t reserved;
};

struct gv_record_inside {
    struct gv_record_head head;
    uint64_t call_start_ns; /* of the call; its record may be lost */
    uint32_t correlation;
    uint32_t reserved32;
    uint64_t reserved[5];
};

/* Nodes have the numbers of cuptiGetGraphNodeId(). */
struct gv_record_graph_node {
    struct gv_record_head head;
    uint64_t node;
    uint64_t original;      /* which it is a clone of; 0: it was added */
    uint64_t call_start_ns; /* of the call, whose record may be lost; 0: of no call that is known */
    uint64_t reserved[4];
};

/* See struct gv_spool_control. */
struct gv_record_change {
    struct gv_record_head head;
    uint64_t at_ns;
    uint32_t number;
    uint32_t reserved32;
    uint64_t reserved[5];
};

/* What CUPTI tells us, because it serves one profiler at a time. */
enum gv_recording {
    GV_RECORDING_ALL = 1,        /* GPU operations with their calls */
    GV_RECORDING_OPERATIONS = 2, /* without their calls: another profiler has the callbacks */
    GV_RECORDING_OTHER = 3,      /* nothing: another profiler has CUPTI */
    GV_RECORDING_STOPPED = 4,    /* nothing: recording is stopped */
};

struct gv_record_recording {
    struct gv_record_head head; /* api: enum gv_recording, until the next one */
    uint64_t at_ns;
    uint32_t text_bytes; /* of the other profiler's file; 0: none, or unknown */
    uint32_t reserved32;
    uint64_t reserved[5];
};

/* Whom an idle sample says something about. */
enum gv_idle_about {
    GV_IDLE_SELF = 0,   /* the thread */
    GV_IDLE_GIL = 1,    /* it waits for Python's GIL: `other` is the thread that has it */
    GV_IDLE_CHILD = 2,  /* it waits, and `other` is a process that descends from this one */
    GV_IDLE_BESIDE = 3, /* it waits for another thread, and `other` is one that may be it */
    GV_IDLE_LOCK = 4, /* beside another look at the same time: threads wait for a lock, and `other`
                         has it, which may be the thread itself; 0: no longer */
};

enum gv_idle_target {
    GV_IDLE_TARGET_NONE = 0, /* the system call has no file, or is not known */
    GV_IDLE_TARGET_FILE = 1, /* its path is the text */
    GV_IDLE_TARGET_PIPE = 2,
    GV_IDLE_TARGET_SOCKET = 3, /* a Unix socket, or one whose protocol is not known */
    GV_IDLE_TARGET_TERMINAL = 4,
    GV_IDLE_TARGET_OTHER = 5,   /* eventfd, epoll, device, ... */
    GV_IDLE_TARGET_NETWORK = 6, /* a socket of TCP, UDP, ... */
};

enum gv_idle_signs {
    GV_IDLE_COLLECTS = 1u << 0,    /* Python's garbage collector runs in it */
    GV_IDLE_IN_PYTHON = 1u << 1,   /* the thread runs Python code, or code called by it */
    GV_IDLE_HAS_GIL = 1u << 2,     /* the thread has the GIL */
    GV_IDLE_THROTTLED = 1u << 3,   /* its control group used up its CPU quota since the last look */
    GV_IDLE_PINNED = 1u << 4,      /* it may use fewer CPUs than the machine has */
    GV_IDLE_KNOWS_GIL = 1u << 6,   /* the interpreter has a GIL, and it is known who has it */
    GV_IDLE_WANTS_STACK = 1u << 5, /* running native code: the collector takes its stack now */
    GV_IDLE_WANTS_LOCK = 1u << 7,  /* of GV_IDLE_LOCK: the thread waits for that lock, too */
};

/*
 * One look at a thread that made CUDA calls and is not in one. Its stacks come before, in the same
 * group. Text: GV_IDLE_SELF: the path of the file, the wait channel of a thread in state D, or the
 * CPUs of a pinned one in state R ("2 of 16 CPUs");
 * GV_IDLE_CHILD: the process's command name; GV_IDLE_LOCK: how many other threads wait ("9
 * threads").
 */
struct gv_record_idle_sample {
    struct gv_record_head
        head; /* api: bytes of text; result: the system call that it is in, or -1 */
    /* GV_IDLE_BESIDE, GV_IDLE_LOCK: state, system call and target are those of `other`. */
    uint64_t at_ns;
    uint64_t since_ns;     /* the look before it; 0: the first look at this thread */
    uint32_t tid;          /* of the thread */
    uint32_t other;        /* thread or process, see enum gv_idle_about; 0: none */
    uint32_t stack;        /* number of a STACK, the thread's own; 0: none */
    uint32_t other_stack;  /* that of `other`; GV_IDLE_LOCK: of another thread that waits */
    uint64_t delay_ns;     /* how long the thread, or the child, waited for a CPU since that look */
    uint64_t cpu_ns;       /* and ran */
    char state;            /* of the thread, or the child, as in /proc/PID/stat */
    uint8_t about;         /* enum gv_idle_about */
    uint8_t target;        /* enum gv_idle_target */
    uint8_t signs;         /* enum gv_idle_signs */
    uint16_t cpus;         /* that the process may use; 0: not told */
    uint16_t process_cpus; /* that the process used since that look, in hundredths */
};

struct gv_record_stack_copy {
    struct gv_record_head head;
    uint32_t number; /* of the STACK that it is the native side of */
    uint32_t copy;   /* its chunk plus one */
    uint64_t serial;
    uint64_t reserved[5];
};

struct gv_record_range_text {
    struct gv_record_head head;
    uint32_t number; /* counted from 1 in each process */
    uint32_t text_bytes;
    uint64_t reserved[6];
};

enum gv_range_kind {
    GV_RANGE_PUSH = 1,  /* ends with its thread's pop in the same domain */
    GV_RANGE_START = 2, /* ends with the end of its id, on any thread */
    GV_RANGE_MARK = 3,
};

enum gv_range_payload { /* as in NVTX */
                        GV_RANGE_PAYLOAD_NONE = 0,
                        GV_RANGE_PAYLOAD_UINT64 = 1,
                        GV_RANGE_PAYLOAD_INT64 = 2,
                        GV_RANGE_PAYLOAD_DOUBLE = 3,
                        GV_RANGE_PAYLOAD_UINT32 = 4,
                        GV_RANGE_PAYLOAD_INT32 = 5,
                        GV_RANGE_PAYLOAD_FLOAT = 6,
};

/* `text`, `domain` and `category_name` are numbers of texts, 0: none. */
struct gv_record_range {
    struct gv_record_head
        head; /* api: bytes of the text that follows; result: enum gv_range_kind */
    uint64_t start_ns;
    uint64_t id;      /* START */
    uint64_t payload; /* its bytes */
    uint32_t text;
    uint32_t domain;
    uint32_t category; /* 0: none */
    uint32_t category_name;
    uint32_t color;       /* ARGB */
    uint32_t missed;      /* pops of this thread since its last record, of which there is none */
    uint8_t payload_type; /* enum gv_range_payload */
    uint8_t has_color;
    uint16_t reserved16;
    uint32_t reserved32;
};

struct gv_record_range_end {
    struct gv_record_head head; /* result: GV_RANGE_PUSH or GV_RANGE_START */
    uint64_t at_ns;
    uint64_t id;     /* START */
    uint32_t domain; /* PUSH */
    uint32_t missed; /* as above */
    uint64_t reserved[4];
};

/* Where a Python function was. */
struct gv_python_position {
    uint32_t code;        /* number of a PYTHON_CODE */
    uint32_t instruction; /* in bytes from the code's start */
    uint32_t left_out;    /* frames between this one and the next */
};

#define GV_RECORD_POSITIONS 4u

struct gv_record_python_frames {
    struct gv_record_head head; /* api: positions used */
    struct gv_python_position position[GV_RECORD_POSITIONS];
    uint64_t reserved;
};

/* One text follows: the file's name, the function's name, the line table. */
struct gv_record_python_code {
    struct gv_record_head head;
    uint32_t number; /* counted from 1 in each process */
    int32_t first_line;
    uint16_t file_bytes; /* UTF-8 */
    uint16_t function_bytes;
    uint32_t table_bytes; /* as in the interpreter's memory; 0: only the first line is known */
    uint8_t minor;        /* of CPython 3: the table's format */
    uint8_t
        is_interpreters; /* 1: the interpreter's own code, which is hidden where it has no line */
    uint16_t reserved16;
    uint32_t reserved32;
    uint64_t reserved[4];
};

#define GV_RECORD_TEXT_BYTES 56u

struct gv_record_text {
    struct gv_record_head head; /* api: bytes used of `text` */
    char text[GV_RECORD_TEXT_BYTES];
};

/* The longest name or path in a record. A longer one is cut and ends in "...". */
#define GV_RECORD_TEXT_LIMIT 2048u

union gv_record {
    struct gv_record_head head;
    struct gv_record_call call;
    struct gv_record_poll poll;
    struct gv_record_load load;
    struct gv_record_name name;
    struct gv_record_unload unload;
    struct gv_record_text text;
    struct gv_record_device device;
    struct gv_record_gpu_name gpu_name;
    struct gv_record_gpu_shape gpu_shape;
    struct gv_record_gpu_op gpu_op;
    struct gv_record_gpu_sample gpu_sample;
    struct gv_record_jit jit;
    struct gv_record_overhead overhead;
    struct gv_record_gpu_module gpu_module;
    struct gv_record_stack stack;
    struct gv_record_run_delay run_delay;
    struct gv_record_context device_of_context;
    struct gv_record_host host;
    struct gv_record_recording recording;
    struct gv_record_graph_node graph_node;
    struct gv_record_change change;
    struct gv_record_collective collective;
    struct gv_record_inside inside;
    struct gv_record_idle_sample idle_sample;
    struct gv_record_stack_copy stack_copy;
    struct gv_record_range_text range_text;
    struct gv_record_range range;
    struct gv_record_range_end range_end;
    struct gv_record_python_frames python_frames;
    struct gv_record_python_code python_code;
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

/* The call that a thread is in. Stored with release, `api` last. The next call, and the next
 * thread, reuse the slot. If a reader finds `thread`, `start_ns` and `api` unchanged afterwards,
 * what it has read belongs to one call. */
struct gv_spool_slot {
    _Atomic uint64_t thread; /* [w] serial number; 0: the slot is free */
    _Atomic uint64_t start_ns;
    _Atomic uint32_t api_plus_one; /* 0: in no call */
    _Atomic uint32_t tid;
    _Atomic uint64_t detail; /* kernel number for a launch; 0: unknown */
    _Atomic uint64_t stream;
    _Atomic uint64_t comm[GV_SPOOL_COMM_BYTES / sizeof(uint64_t)]; /* text */
    _Atomic uint64_t unrecorded;    /* [w] quick query-only calls of all its threads: no records */
    _Atomic uint64_t stacks_spared; /* [w] calls of all its threads for which no stack was taken */
    uint64_t reserved[7];
};

/*
 * Native stacks: the program's thread copies its registers and the used part of its stack into
 * a ring, and the collector unwinds the copy and clears it. The ring has chunks; a copy takes some
 * in a row. Bits say which are taken, and the lowest free ones are taken first, so that few pages
 * are used, again and again. A chunk is freed by the reader, or by the thread if nothing refers to
 * the copy.
 */
#define GV_STACK_CHUNK_BYTES   4096u
#define GV_STACK_WORD_CHUNKS   64u /* whose bits are in one word */
#define GV_STACK_WORDS         9u
#define GV_STACK_WORD_OF_IDLE  (GV_STACK_WORDS - 1) /* for copies of other threads only */
#define GV_STACK_WORD_BYTES    (GV_STACK_WORD_CHUNKS * GV_STACK_CHUNK_BYTES)
#define GV_STACK_COPY_MOST     65536u /* bytes of a stack */
#define GV_STACK_COPY_OF_OTHER 49152u /* of another thread: there is room for four */
#define GV_STACK_REGISTERS     32u
#define GV_STACK_POSITIONS     48u
#define GV_STACK_SITES         8192u /* numbers of sites, from 1 on */

enum gv_stack_copy_flags {
    GV_STACK_COPY_IS_WHOLE = 1u << 0,    /* up to the stack's end */
    GV_STACK_COPY_LACKS_PYTHON = 1u << 1 /* the interpreter's frames could not be read */
};

struct gv_stack_copy {
    _Atomic uint64_t serial; /* written last; 0: it was cleared */
    uint32_t generation;     /* of the list of objects */
    uint32_t known;          /* which registers are: a bit per value */
    uint64_t pc;
    uint64_t sp;
    uint64_t value[GV_STACK_REGISTERS]; /* by DWARF's number */
    uint64_t python_low; /* the object with the Python interpreter: [low, high); 0: none */
    uint64_t python_high;
    uint32_t bytes; /* of the stack, from `sp` on */
    uint16_t flags; /* enum gv_stack_copy_flags */
    uint16_t position_count;
    struct gv_python_position position[GV_STACK_POSITIONS]; /* innermost first */
    unsigned char stack[] __attribute__((aligned(16)));
};

/*
 * The objects of the process, for the reader to unwind with: files that are mapped, or were. An
 * object is there in the generations [added, removed). The reader frees an entry whose object is
 * gone when it has noted that.
 */
#define GV_SPOOL_OBJECTS           4096u
#define GV_SPOOL_OBJECTS_GROWTH    128u /* that get storage at once */
#define GV_SPOOL_BUILD_ID_BYTES    20u
#define GV_SPOOL_OBJECT_PATH_BYTES 451u

struct gv_spool_object {
    _Atomic uint32_t added;   /* [wr] 0: free */
    _Atomic uint32_t removed; /* [w] 0: it is mapped */
    uint64_t base;            /* what the file's addresses are relative to */
    uint64_t low;             /* [low, high): where it is mapped */
    uint64_t high;
    uint64_t dynamic;       /* tells objects at one base apart */
    uint8_t build_id_bytes; /* 0: it has none */
    uint8_t build_id[GV_SPOOL_BUILD_ID_BYTES];
    char path[GV_SPOOL_OBJECT_PATH_BYTES];
};

struct gv_spool_stacks {
    uint64_t ring_offset;
    uint64_t objects_offset;
    _Atomic uint64_t used[GV_STACK_WORDS]; /* [wr] bits of chunks */
    _Atomic uint32_t words;                /* [w] that have storage, of those for calls */
    _Atomic uint32_t idle_word;            /* [w] 1: that one has, too */
    _Atomic uint32_t objects_allocated;    /* [w] entries that have storage */
    _Atomic uint32_t generation;     /* [w] of the list of objects; written after the entries */
    _Atomic uint64_t objects_missed; /* [w] had no room in the list */
    _Atomic uint64_t not_taken;      /* [w] stacks for which the ring had no room */
};

enum gv_clock_kind {
    GV_CLOCK_MONOTONIC = 1, /* clock_gettime(CLOCK_MONOTONIC) */
    GV_CLOCK_TSC = 2,       /* the time stamp counter, by struct gv_clock_line */
};

/* base_ns + ((ticks - base_ticks) * multiplier >> 32) */
struct gv_clock_line {
    _Atomic uint64_t base_ticks;
    _Atomic uint64_t base_ns;
    _Atomic uint64_t multiplier;
};

/* The clock of every process of a session and of its collector, which keeps it at CLOCK_MONOTONIC
 * (trace/clock.h). All read the one in the session's file; in a spool, the lines are those of its
 * start. */
struct gv_clock {
    uint32_t kind;
    _Atomic uint32_t changes;      /* [r] of the lines; odd: the older line is being replaced */
    struct gv_clock_line lines[2]; /* the newest is that of bit 1 of `changes` */
    int64_t unix_offset_ns;        /* Unix time = clock + this */
    uint64_t epoch_ns;             /* the session's start: 0 of the trace's times */
};

enum gv_process_state {
    GV_PROCESS_RUNNING = 0,
    GV_PROCESS_EXITING = 1, /* it waits for `drained`, or has stopped waiting */
    GV_PROCESS_DYING = 2,   /* the same before a signal to itself; it may be running again */
};

struct gv_spool_lost {
    _Atomic uint64_t calls[GV_SPOOL_CLASSES]; /* by class */
    _Atomic uint64_t names;
    _Atomic uint64_t loads;
    _Atomic uint64_t threads;        /* threads without a slot, which in_flight does not know */
    _Atomic uint64_t stacks;         /* of other threads, beyond the number of distinct ones */
    _Atomic uint64_t python_stacks;  /* through an interpreter, without its frames */
    _Atomic uint64_t host_functions; /* launches or runs of which there is no record */
    _Atomic uint64_t ranges;         /* ranges and marks without a record, or without its end */
    _Atomic uint64_t graph_nodes;    /* without a record */
};

enum gv_gpu_state {
    GV_GPU_UNKNOWN = 0,   /* CUDA was not initialised yet */
    GV_GPU_OFF = 1,       /* GPUVERIFY_GPU=off */
    GV_GPU_HOST_ONLY = 2, /* `why` has the reason */
    GV_GPU_SEEN = 3,      /* through CUPTI */
    GV_GPU_SAMPLED = 4,   /* some calls, by events */
};

/* The thread number of the GPU side, which is read after the calls that it belongs to. */
#define GV_SPOOL_GPU_THREAD (UINT64_C(1) << 62)
/* That of the thread that writes idle samples. */
#define GV_SPOOL_IDLE_THREAD (UINT64_C(1) << 61)
/* That of marks from outside, which have no records. */
#define GV_SPOOL_OUTSIDE_THREAD (GV_SPOOL_IDLE_THREAD | 1)

#define GV_SPOOL_WHY_BYTES 256u

struct gv_spool_gpu {
    _Atomic uint32_t state;         /* enum gv_gpu_state; written after the rest */
    _Atomic uint32_t cupti_version; /* as cuptiGetVersion() says; 0: unknown */
    _Atomic uint64_t dropped;       /* records that CUPTI had no room for */
    _Atomic uint64_t lost;          /* records that this spool had no room for */
    _Atomic uint64_t started_ns;    /* what starts after this is recorded; 0: never started */
    _Atomic uint64_t flushed_ns;    /* what ended before this is here; 0: never flushed */
    _Atomic uint64_t unloaded_ns; /* when code was first unloaded; 0: never. CUPTI uses the old name
                                     for a function that gets a handle again */
    _Atomic uint32_t finished;    /* 1: the last flush succeeded */
    _Atomic uint32_t failed;      /* 1: CUPTI failed later; `why` says where */
    _Atomic uint32_t whole_graphs; /* 1: each graph launch is one operation */
    char why[GV_SPOOL_WHY_BYTES];
    char library[GV_SPOOL_PATH_BYTES]; /* the libcupti in use */
};

#define GV_SPOOL_NOTES      16u
#define GV_SPOOL_NOTE_BYTES 240u

enum gv_note_state {
    GV_NOTE_FREE = 0,
    GV_NOTE_BUSY = 1, /* a command writes it: its claim (trace/claim.h) */
    GV_NOTE_FULL = 2, /* for the reader, which frees it */
};

/* What a command did from outside, which has no segment to write a record to. */
struct gv_spool_note {
    _Atomic uint32_t state; /* enum gv_note_state */
    uint32_t change;        /* its number; 0: a mark */
    uint64_t at_ns;
    char text[GV_SPOOL_NOTE_BYTES]; /* of a mark */
};

/* Whether the process is recorded: trace/spool_control.h. */
struct gv_spool_control {
    /* [w], and commands: how often recording was stopped or started; odd: it is stopped. Each
     * change has its number here, and a CHANGE record or a note. Only the first may have none: then
     * the process began stopped. In a cache line of its own, because every call reads it. */
    _Alignas(64) _Atomic uint32_t changes;
    _Alignas(64) struct gv_spool_note notes[GV_SPOOL_NOTES];
};

/* trace/spool_free_list.h */
struct gv_spool_list {
    _Atomic uint64_t head;  /* [wr] tag << 32 | segment; the tag changes with every change */
    _Atomic uint32_t count; /* [wr] about how many there are */
    uint32_t reserved32;
};

struct gv_spool_header {
    char magic[8];
    uint32_t version;
    uint32_t header_bytes;
    char session[64];  /* [w] the session's id */
    uint64_t identity; /* [w] random: identifies this spool, even after pids were reused */

    /* [w] the process */
    uint32_t pid;
    uint32_t parent_pid;
    uint64_t process_start_ticks;   /* field 22 of /proc/PID/stat */
    uint64_t attached_ns;           /* clock when recording started */
    uint32_t forked;                /* 1: a fork without exec of a process that recorded */
    _Atomic int32_t driver_version; /* cuDriverGetVersion; 0: unknown yet */
    struct gv_clock clock;
    uint32_t held;           /* 1: it holds the file as long as it lives: trace/spool_hold.h */
    _Atomic uint32_t opened; /* [r] 1: a reader has it */

    /* [w] geometry; a reader checks it against the constants above and the file's size */
    uint32_t names_offset;
    uint32_t names_bytes;
    uint32_t names_count;
    uint32_t slots_offset;
    uint32_t slots_count;
    uint32_t segments_offset;
    uint32_t segment_limit; /* as many as GPUVERIFY_SPOOL_MB allows */
    /* [wr] As many as it may have now: not more than its share of the memory that is free. */
    _Atomic uint32_t limit;
    _Atomic uint32_t segments_allocated; /* number of segments with storage */
    _Atomic uint32_t growing;
    struct gv_spool_list free;
    struct gv_spool_list empty; /* free too, but without storage: the reader took it back */
    /* [r] Segments below this have storage, and pages that are cheap to map: a reader that keeps up
     * makes them ahead of the writer. */
    _Atomic uint32_t prepared;

    _Atomic uint32_t state; /* [w] enum gv_process_state */
    _Atomic uint32_t
        ends; /* [w] how often a thread began to end the process, which may survive that */
    _Atomic uint32_t drained; /* [r] futex: everything before this many ends is in the trace */
    _Atomic uint32_t exit_code_known;
    _Atomic int32_t exit_code;     /* [w] as given to exit() */
    _Atomic int32_t exit_signal;   /* [w] for GV_PROCESS_DYING: the signal to itself */
    _Atomic uint64_t ended_ns;     /* [w] clock when it began to exit; 0: not yet, or never */
    _Atomic uint64_t threads_seen; /* [w] serial numbers given out */
    struct gv_spool_lost lost;     /* [w] */
    struct gv_spool_gpu gpu;       /* [w] */
    struct gv_own_cost_total own_cost[GV_OWN_COST_COUNT]; /* [w] */
    struct gv_spool_stacks stacks;
    struct gv_spool_control control;

    uint32_t arguments_bytes;
    _Atomic uint32_t environment_reads; /* 1; it grows when `environment` changes */
    char executable[GV_SPOOL_PATH_BYTES];
    char arguments[GV_SPOOL_ARGUMENTS_BYTES]; /* as in /proc/PID/cmdline: NUL after each */
    char directory[GV_SPOOL_PATH_BYTES];
    char program[64]; /* "train" for python train.py, otherwise argv[0]'s name */
    struct gv_rank rank;
    /* "=VALUE"; "": the variable is not set. A longer value is cut and ends in "...". */
    char environment[GV_ENVIRONMENT_COUNT][GV_SPOOL_VARIABLE_BYTES];
};

/* The names of the calls (names_count of them), so that any later version can read the spool. */
struct gv_spool_name {
    uint8_t class_index;
    char class_name[15];
    char name[64];
};

_Static_assert(sizeof(union gv_record) == GV_SPOOL_RECORD_BYTES, "records are 64 bytes");
_Static_assert(sizeof(struct gv_record_call) == GV_SPOOL_RECORD_BYTES, "gv_record_call");
_Static_assert(sizeof(struct gv_record_poll) == GV_SPOOL_RECORD_BYTES, "gv_record_poll");
_Static_assert(sizeof(struct gv_record_load) == GV_SPOOL_RECORD_BYTES, "gv_record_load");
_Static_assert(sizeof(struct gv_record_name) == GV_SPOOL_RECORD_BYTES, "gv_record_name");
_Static_assert(sizeof(struct gv_record_unload) == GV_SPOOL_RECORD_BYTES, "gv_record_unload");
_Static_assert(sizeof(struct gv_record_text) == GV_SPOOL_RECORD_BYTES, "gv_record_text");
_Static_assert(sizeof(struct gv_record_device) == GV_SPOOL_RECORD_BYTES, "gv_record_device");
_Static_assert(sizeof(struct gv_record_gpu_name) == GV_SPOOL_RECORD_BYTES, "gv_record_gpu_name");
_Static_assert(sizeof(struct gv_record_gpu_shape) == GV_SPOOL_RECORD_BYTES, "gv_record_gpu_shape");
_Static_assert(sizeof(struct gv_record_gpu_op) == GV_SPOOL_RECORD_BYTES, "gv_record_gpu_op");
_Static_assert(sizeof(struct gv_record_gpu_sample) == GV_SPOOL_RECORD_BYTES,
               "gv_record_gpu_sample");
_Static_assert(sizeof(struct gv_record_jit) == GV_SPOOL_RECORD_BYTES, "gv_record_jit");
_Static_assert(sizeof(struct gv_record_overhead) == GV_SPOOL_RECORD_BYTES, "gv_record_overhead");
_Static_assert(sizeof(struct gv_record_gpu_module) == GV_SPOOL_RECORD_BYTES,
               "gv_record_gpu_module");
_Static_assert(sizeof(struct gv_record_stack) == GV_SPOOL_RECORD_BYTES, "gv_record_stack");
_Static_assert(sizeof(struct gv_record_run_delay) == GV_SPOOL_RECORD_BYTES, "gv_record_run_delay");
_Static_assert(sizeof(struct gv_record_host) == GV_SPOOL_RECORD_BYTES, "gv_record_host");
_Static_assert(sizeof(struct gv_record_recording) == GV_SPOOL_RECORD_BYTES, "gv_record_recording");
_Static_assert(sizeof(struct gv_record_collective) == GV_SPOOL_RECORD_BYTES,
               "gv_record_collective");
_Static_assert(sizeof(struct gv_record_inside) == GV_SPOOL_RECORD_BYTES, "gv_record_inside");
_Static_assert(sizeof(struct gv_record_graph_node) == GV_SPOOL_RECORD_BYTES,
               "gv_record_graph_node");
_Static_assert(sizeof(struct gv_record_change) == GV_SPOOL_RECORD_BYTES, "gv_record_change");
_Static_assert(sizeof(struct gv_record_idle_sample) == GV_SPOOL_RECORD_BYTES,
               "gv_record_idle_sample");
_Static_assert(sizeof(struct gv_record_stack_copy) == GV_SPOOL_RECORD_BYTES,
               "gv_record_stack_copy");
_Static_assert(sizeof(struct gv_record_range_text) == GV_SPOOL_RECORD_BYTES,
               "gv_record_range_text");
_Static_assert(sizeof(struct gv_record_range) == GV_SPOOL_RECORD_BYTES, "gv_record_range");
_Static_assert(sizeof(struct gv_record_range_end) == GV_SPOOL_RECORD_BYTES, "gv_record_range_end");
_Static_assert(sizeof(struct gv_record_python_frames) == GV_SPOOL_RECORD_BYTES,
               "gv_record_python_frames");
_Static_assert(sizeof(struct gv_record_python_code) == GV_SPOOL_RECORD_BYTES,
               "gv_record_python_code");
_Static_assert(sizeof(struct gv_spool_object) == 512, "object size");
_Static_assert(sizeof(struct gv_spool_segment) == GV_SPOOL_SEGMENT_BYTES, "segment size");
_Static_assert(sizeof(struct gv_spool_slot) == 128, "slot size");
_Static_assert(sizeof(struct gv_spool_name) == 80, "name size");

#endif
