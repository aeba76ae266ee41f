/*
 * The sums of a session that runs, of which its page is made (report/collect/live_page.h). They are
 * kept as records are stored: nothing is read again. What the analysis of the finished trace finds
 * out by looking at a whole run (causes of stalls, reasons of idle time) is decided here at once,
 * from the call's kind, the GPU's work during the call, and the looks during the idle time:
 * docs/metrics.md.
 *
 * Memory is bounded: what is pending when there is no room is settled early. One thread. Nothing
 * here is an error to the collector, except that it has no memory at the start.
 */
#ifndef GV_COLLECT_LIVE_H
#define GV_COLLECT_LIVE_H

#include "report/analyse/idle/looks.h"
#include "report/analyse/ledger/accounts.h"
#include "report/analyse/stalls/rule.h"
#include "report/collect/live_page.h"
#include "report/store/database.h"
#include "report/store/key_map.h"
#include "trace/session.h"
#include "trace/spool_reader.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define GV_LIVE_CALLS   8192u
#define GV_LIVE_SAMPLED 1024u
#define GV_LIVE_SLOW    256u
#define GV_LIVE_JITS    64u
#define GV_LIVE_OPS     4096u
#define GV_LIVE_DEVICES 64u
#define GV_LIVE_SPANS   4096u
#define GV_LIVE_LOOKS   1024u
#define GV_LIVE_THREADS 64u
#define GV_LIVE_GAPS    1024u
#define GV_LIVE_KNOWN   512u
/* Of a call, and of a time without GPU work, that are worth a row of their own. */
#define GV_LIVE_CALL_NS INT64_C(1000000)
#define GV_LIVE_IDLE_NS INT64_C(10000000)
/* GPU records come that much later than calls, or less. */
#define GV_LIVE_SETTLE_NS INT64_C(2000000000)

enum gv_live_kind {
#define GV_LIVE(name, most, way) GV_LIVE_##name,
#include "report/collect/live.def"
    GV_LIVE_KINDS
};
extern const char *const gv_live_names[GV_LIVE_KINDS];

struct gv_live;

/* A process of the session. All zeros: nothing is kept of it. */
struct gv_live_process {
    struct gv_live *live;
    int64_t id, start_ns;
    bool gpu_seen; /* its GPU side is recorded */
    bool resumed;  /* what it did before is not known */
    /* by its calls: */
    bool worked, waited;       /* it has given a GPU work; all of that was done at waited_ns */
    int64_t waited_ns, thread; /* that gave the last work */
};

/* A function, of one process. */
struct gv_live_api {
    const struct gv_stall_rule *rule;
    struct gv_live_row *calls, *launches, *bytes; /* NULL: not counted */
    char class_name[16];
    bool of_nccl;
};

struct gv_live_call {
    int64_t id, thread, api, start_ns, end_ns;
    int64_t count, bytes, result;
    const struct gv_stall_rule *rule;
};

/* One that took long, until it is known what the GPU did meanwhile. */
struct gv_live_slow {
    struct gv_live_call call;
    struct gv_live_process process;
    const struct gv_stall_rule *rule;
    int64_t own_ns;   /* on the GPU */
    int64_t ahead;    /* operations of earlier calls that began after it */
    unsigned what;    /* the account of its time */
    bool loads, told; /* it loaded code; it is in the list of slow calls */
};

/* A call that stands for others, by its stack. */
struct gv_live_sampled {
    int64_t call, stack, weight, count, gpu_ns; /* the last two: not yet in the line's row */
    uint64_t line;                              /* a hash; 0: not known yet */
};

struct gv_live_op {
    int64_t start_ns, end_ns, call;
    int64_t what; /* row of the shape; or minus enum gv_gpu_kind, << 8, and the kind of copy */
    struct gv_live_device *device;
};

/* A GPU, as all processes of the session see it. */
struct gv_live_unit {
    struct gv_live_row *busy;
    int64_t until_ns;
};

/* A GPU of one process. */
struct gv_live_device {
    int64_t process, number;
    struct gv_live_unit *unit;
    int64_t until_ns, booked_ns, thread; /* busy until then, idle time is booked until; by whom */
    bool begun, known;                   /* it has worked; until_ns is known */
    struct gv_live_span {
        int64_t start_ns, end_ns;
    } * spans; /* a ring, newest last */
    uint64_t span_count;
};

struct gv_live_jit {
    int64_t process, start_ns, end_ns;
};

struct gv_live_look {
    int64_t at_ns, thread;
    uint8_t what; /* enum gv_account */
    char text[GV_LIVE_TEXT_BYTES];
};

/* A time in which a GPU had no work of a thread. */
struct gv_live_gap {
    int64_t thread, start_ns, end_ns;
    int64_t shown_ns; /* since when, if it gets a row of its own; or else 0 */
};

/* A thread that was looked at. */
struct gv_live_thread {
    int64_t id, at_ns, since_ns;
    char name[48], text[GV_LIVE_TEXT_BYTES];
    uint16_t seen[GV_ACCOUNTS];
};

struct gv_live {
    char directory[GV_SESSION_PATH_BYTES], session[GV_SESSION_ID_BYTES];
    sqlite3 *trace;     /* NULL: it is not open */
    sqlite3_stmt *line; /* gv_stack_line()'s */
    struct gv_live_page page;
    struct gv_live_page saved; /* as of the last commit */
    uint32_t kind_count[GV_LIVE_KINDS];
    struct gv_key_map rows; /* hash -> index + 1 */
    uint64_t hashes[GV_LIVE_ROWS];
    int64_t marks[GV_LIVE_ROWS][3][2]; /* count and ns one, two and three seconds ago */
    int64_t mark_ns[3], facts_ns;      /* facts_ns of CLOCK_MONOTONIC */
    int64_t threshold_ns;

    struct gv_live_call calls[GV_LIVE_CALLS]; /* by id */
    struct gv_live_sampled sampled[GV_LIVE_SAMPLED];
    struct gv_live_slow slow[GV_LIVE_SLOW];
    int64_t slow_ids[GV_LIVE_SAMPLED]; /* the same, to know at once that a call is none */
    uint32_t slow_count;
    struct gv_live_jit jits[GV_LIVE_JITS]; /* a ring */
    uint32_t jit_next;
    struct {
        int64_t thread, end_ns;
    } called[GV_LIVE_THREADS]; /* the end of a thread's newest call, by its row */
    struct gv_live_known {
        int64_t stack;
        uint64_t line;
        char text[GV_LIVE_TEXT_BYTES];
    } known[GV_LIVE_KNOWN]; /* lines, by stack */

    struct gv_live_op ops[GV_LIVE_OPS];
    uint32_t op_count;
    struct gv_live_unit units[GV_LIVE_DEVICES];
    struct gv_live_device devices[GV_LIVE_DEVICES];
    uint32_t unit_count, device_count;
    struct gv_key_map names; /* of what an operation is -> hash of the row */

    struct gv_idle_looks *reader;
    int64_t looked; /* up to this row */
    struct gv_live_look looks[GV_LIVE_LOOKS];
    uint32_t look_next;
    struct gv_live_thread threads[GV_LIVE_THREADS];
    uint32_t thread_count;
    struct gv_live_gap gaps[GV_LIVE_GAPS]; /* until the looks of that time are read */
    uint32_t gap_count;
};

/* live.c: 0 or -ENOMEM. Continues what an earlier collector of the session kept. */
int gv_live_open(struct gv_live **live, const char *directory, const char *session);
void gv_live_close(struct gv_live *live);
/* What was added is in the trace; or it is not: then the records will come again. */
void gv_live_committed(struct gv_live *live);
void gv_live_again(struct gv_live *live);
/* Often, in no transaction: whether the page is due. Then it is to be settled, told of each
 * process's calls in flight, and written. */
bool gv_live_is_due(struct gv_live *live, int64_t now_ns);
void gv_live_settle(struct gv_live *live);
void gv_live_flights(const struct gv_live_process *process, const struct gv_spool_reader *reader,
                     uint64_t epoch_ns);
void gv_live_write(struct gv_live *live);
/* The trace is finished: writes the last page. */
void gv_live_end(struct gv_live *live);
/* The process has ended. */
void gv_live_process_end(struct gv_live_process *process, int64_t end_ns);
/* What the page says of the whole run, until then: kind, one, two, count, ns. 0 or -errno. */
int gv_live_facts(sqlite3 *trace, int64_t until_ns, gv_database_take *take, void *context);

/* A text of a row, cut where it is too long; NULL: empty. */
static inline void gv_live_text(char out[GV_LIVE_TEXT_BYTES], const char *text)
{
    size_t bytes = text ? strnlen(text, GV_LIVE_TEXT_BYTES - 1) : 0;

    memset(out, 0, GV_LIVE_TEXT_BYTES);
    if (bytes)
        memcpy(out, text, bytes);
}

/* live_rows.c: the row, added if it is new. NULL: there is no room. `two` may be NULL. A row of a
 * GV_LIVE_THING may become another's. */
struct gv_live_row *gv_live_find(struct gv_live *live, enum gv_live_kind kind, const char *one,
                                 const char *two);
uint64_t gv_live_hash(enum gv_live_kind kind, const char *one, const char *two);
/* The row with this hash; NULL: there is none. */
struct gv_live_row *gv_live_row_of(struct gv_live *live, uint64_t hash);
void gv_live_rows_index(struct gv_live *live);
/* The first column of a query's first row, unchanged if there is none; for one number. */
void gv_live_ask(const struct gv_live *live, const char *sql, int64_t number, char *out,
                 size_t size);
/* Adds to a row, which may be NULL. */
void gv_live_add(struct gv_live_row *row, int64_t count, int64_t ns);
/* Notes the longest of its kind. */
void gv_live_longest(struct gv_live_row *row, int64_t at_ns, int64_t ns);

/* live_calls.c */
void gv_live_know_api(struct gv_live *live, const char *name, const char *class_name,
                      struct gv_live_api *api);
void gv_live_take_call(struct gv_live_process *process, const struct gv_live_api *api,
                       const struct gv_live_call *call);
/* The call stands for so many, if that is not 0; it has this stack. */
void gv_live_stack(struct gv_live *live, int64_t call, int64_t stack, int64_t weight);
void gv_live_load(struct gv_live *live, const char *kind, int64_t ns);
/* The process compiled in this time. */
void gv_live_take_jit(const struct gv_live_process *process, int64_t start_ns, int64_t end_ns);
/* The call loaded code late. */
void gv_live_loads(struct gv_live *live, int64_t call);
/* Slow calls that ended by then, and all of this process (0: none): their GPU side is there. */
void gv_live_calls_settle(struct gv_live *live, int64_t until_ns, int64_t process);

/* live_gpu.c */
void gv_live_take_op(struct gv_live_process *process, int64_t number, const struct gv_live_op *op);
/* The slow call with this number that is still pending; NULL: there is none. */
struct gv_live_slow *gv_live_slow_of(struct gv_live *live, int64_t call);
/* Whether the GPU side of a process is recorded, and until when it is there. */
void gv_live_flushed(struct gv_live_process *process, bool seen, int64_t until_ns);
/* It is not seen, or seen again. */
void gv_live_unseen(struct gv_live_process *process);
void gv_live_ops_settle(struct gv_live *live);
void gv_live_devices_end(const struct gv_live_process *process, int64_t end_ns);
/* For how long the process's GPUs worked in this time. */
int64_t gv_live_busy_ns(const struct gv_live *live, int64_t process, int64_t start_ns,
                        int64_t end_ns);

/* live_idle.c */
void gv_live_idle(struct gv_live *live, const struct gv_live_gap *gap);
/* Reads the looks, and says what the threads did. */
void gv_live_idle_settle(struct gv_live *live);

#endif
