/*
 * gpuverify start, stop, mark: what a running program records, from outside. They write into the
 * spools of its processes (trace/spool_control.h), which belong to the same user.
 */
#include "report/commands/control.h"

#include "report/commands/commands.h"

#include "report/collect/sessions.h"
#include "report/show/message.h"
#include "report/store/trace_file.h"
#include "trace/futex.h"
#include "trace/session_id.h"
#include "trace/spool_control.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The collector takes notes several times a second. */
#define CONTROL_TRIES    20
#define CONTROL_PAUSE_NS 100000000

enum control_what { CONTROL_START, CONTROL_STOP, CONTROL_MARK, CONTROL_FIND };

struct control {
    enum control_what what;
    const char *text; /* of a mark */
    uint32_t pid;     /* 0: all processes of the session */
    struct gv_control_target *target;
    int done; /* processes */
    bool failed;
};

/* The spool's first page and more, or NULL: not a spool of ours, or of another version. */
static struct gv_spool_header *control_map(int directory_fd, const char *name)
{
    struct gv_spool_header *header = NULL;
    struct stat status;
    int fd = openat(directory_fd, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0)
        return NULL;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
        status.st_size >= (off_t)sizeof(*header))
        header = mmap(NULL, sizeof(*header), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (!header || header == MAP_FAILED)
        return NULL;
    if (memcmp(header->magic, GV_SPOOL_MAGIC, sizeof(header->magic)) == 0 &&
        header->version == GV_SPOOL_VERSION && header->header_bytes == sizeof(*header))
        return header;
    munmap(header, sizeof(*header));
    return NULL;
}

static struct gv_spool_note *control_await_note(struct gv_spool_control *control,
                                                _Atomic uint32_t *doorbell)
{
    struct gv_spool_note *note = gv_control_note(control);

    for (int i = 0; !note && i < CONTROL_TRIES; i++) {
        gv_futex_ring(doorbell);
        gv_pause_ns(CONTROL_PAUSE_NS);
        note = gv_control_note(control);
    }
    return note;
}

/* 0; -EALREADY; -EAGAIN: nobody reads the notes; -ESRCH: the process ends. */
static int control_change(const struct control *control, struct gv_spool_header *header,
                          struct gv_session_file *session)
{
    struct gv_spool_note *note = control_await_note(&header->control, &session->doorbell);
    uint64_t at_ns;

    if (!note)
        return -EAGAIN;
    note->change = 0;
    note->text[0] = '\0';
    if (control->what == CONTROL_MARK) {
        at_ns = gv_clock_read(&session->clock);
        strncpy(note->text, control->text, sizeof(note->text) - 1);
        note->text[sizeof(note->text) - 1] = '\0';
    } else {
        note->change = gv_control_change(&header->control, control->what == CONTROL_STOP,
                                         &session->clock, &at_ns);
        if (!note->change) {
            atomic_store(&note->state, GV_NOTE_FREE);
            return -EALREADY;
        }
    }
    note->at_ns = at_ns;
    gv_control_note_give(note);
    /* Its trace may have its end already, and then takes no more notes. */
    if (atomic_load(&header->state) != GV_PROCESS_RUNNING &&
        atomic_compare_exchange_strong(&note->state, &(uint32_t){GV_NOTE_FULL}, GV_NOTE_FREE))
        return -ESRCH;
    gv_futex_ring(&session->doorbell);
    return 0;
}

static void control_process(struct control *control, struct gv_spool_header *header,
                            struct gv_session_file *session)
{
    static const char *const did[] = {"recording is on", "recording is stopped", "marked"};
    int error = control_change(control, header, session);

    if (error == -ESRCH)
        return;
    if (error == -EAGAIN) {
        gv_message("process %u: nobody reads its records: did its collector end?", header->pid);
        control->failed = true;
        return;
    }
    control->done++;
    printf("process %u: %s%s\n", header->pid, did[control->what],
           error == -EALREADY ? ", as before" : "");
}

/* Whether the name is that of a spool of the process or session; `session` gets its session's id.
 */
static bool control_wants(const struct control *control, const char *name,
                          char session[GV_SESSION_ID_BYTES])
{
    size_t length = strlen(name), suffix = strlen(GV_SPOOL_SUFFIX);

    if (length <= suffix || strcmp(name + length - suffix, GV_SPOOL_SUFFIX) != 0 ||
        !gv_session_place_id(name, session))
        return false;
    return control->pid ? strtoul(name + strlen(session) + 1, NULL, 10) == control->pid
                        : strcmp(session, control->target->session) == 0;
}

static void control_spool(struct control *control, int directory_fd, const char *name,
                          const char *session)
{
    struct gv_spool_header *header = control_map(directory_fd, name);
    struct gv_session_file *file = NULL;

    if (header && gv_session_place_find(control->target->directory, session, &file) == 0 &&
        gv_session_process_life(header->pid, header->process_start_ticks) == GV_SESSION_ALIVE) {
        if (control->what == CONTROL_FIND) {
            snprintf(control->target->session, sizeof(control->target->session), "%s", session);
            control->done++;
        } else {
            control_process(control, header, file);
        }
    }
    gv_session_place_unmap(file);
    if (header)
        munmap(header, sizeof(*header));
}

/* Processes that start later: before those that run, or one that is just starting would be missed.
 */
static void control_session(const struct control *control)
{
    const struct gv_control_target *target = control->target;
    struct gv_session_file *file;

    if (gv_session_place_find(target->directory, target->session, &file) == 0)
        atomic_store(&file->stopped, control->what == CONTROL_STOP);
    gv_session_place_unmap(file);
}

/* 0 or -errno; -EPERM: another user's. */
static int control_all(struct control *control)
{
    int fd = open(control->target->directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *stream = fd < 0 ? NULL : fdopendir(fd);
    char session[GV_SESSION_ID_BYTES];
    struct dirent *entry;
    struct stat status;

    if (!stream) {
        int error = errno == ELOOP ? -EPERM : -errno;
        if (fd >= 0)
            close(fd);
        return error;
    }
    if (fstat(fd, &status) < 0 || status.st_uid != geteuid()) {
        closedir(stream);
        return -EPERM;
    }
    if (!control->pid && control->what != CONTROL_MARK)
        control_session(control);
    while ((entry = readdir(stream)))
        if (control_wants(control, entry->d_name, session))
            control_spool(control, fd, entry->d_name, session);
    closedir(stream);
    return 0;
}

static bool control_is_pid(const char *operand, uint32_t *pid)
{
    char *end;
    unsigned long number = strtoul(operand, &end, 10);

    *pid = (uint32_t)number;
    return isdigit((unsigned char)operand[0]) && !*end && number > 0 && number <= INT32_MAX;
}

static int control_find_trace(struct gv_control_target *target, const char *operand)
{
    struct gv_trace_probe probe;

    if (gv_unwritten_trace_find(operand, target->directory, sizeof(target->directory),
                                target->session) == 0)
        return 0;
    int error = gv_trace_file_probe(operand, &probe);
    if (error)
        return error;
    error = gv_session_place_confirm(probe.spool_directory, probe.session);
    if (error && error != -ENOENT)
        return error;
    snprintf(target->directory, sizeof(target->directory), "%s",
             error ? "" : probe.spool_directory);
    snprintf(target->session, sizeof(target->session), "%s", error ? "" : probe.session);
    return 0;
}

/* What it is to act on; of a process, only the folder. */
static int control_begin(struct control *control, const char *operand)
{
    memset(control->target, 0, sizeof(*control->target));
    control->target->is_pid = control_is_pid(operand, &control->pid);
    if (!control->target->is_pid) {
        control->pid = 0;
        return control_find_trace(control->target, operand);
    }
    gv_session_place_default(control->target->directory, sizeof(control->target->directory));
    return 0;
}

int gv_control_find(const char *operand, struct gv_control_target *target)
{
    struct control control = {.what = CONTROL_FIND, .target = target};
    int error = control_begin(&control, operand);

    if (!error && control.pid) {
        error = control_all(&control);
        if (!error && control.done == 0)
            error = -ENOENT;
    }
    return error;
}

void gv_control_say(const char *operand, bool is_pid, int error)
{
    if (error == -EPERM)
        gv_message("%s: its records belong to another user", operand);
    else if (error == -ELOOP)
        gv_message("%s is a symbolic link: name the trace itself", operand);
    else if (error != -ENOENT && error != -EPROTO)
        gv_message("%s: %s", operand, strerror(-error));
    else
        gv_message(is_pid ? "process %s is not recorded; gpuverify look %s looks from outside"
                          : "no running process of %s is recorded",
                   operand, operand);
}

static int control_run(const struct gv_arguments *arguments, enum control_what what)
{
    struct gv_control_target target;
    struct control control = {.what = what,
                              .text = what == CONTROL_MARK ? arguments->operands[1] : NULL,
                              .target = &target};
    int error = control_begin(&control, arguments->operands[0]);

    if (!error)
        error = control_all(&control);
    if (!error && control.done == 0 && !control.failed)
        error = -ENOENT;
    if (error)
        gv_control_say(arguments->operands[0], target.is_pid, error);
    return error || control.failed ? GV_EXIT_FAILED : GV_EXIT_FINE;
}

int gv_command_start(const struct gv_arguments *arguments)
{
    return control_run(arguments, CONTROL_START);
}

int gv_command_stop(const struct gv_arguments *arguments)
{
    return control_run(arguments, CONTROL_STOP);
}

int gv_command_mark(const struct gv_arguments *arguments)
{
    return control_run(arguments, CONTROL_MARK);
}
