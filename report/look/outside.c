#include "report/look/outside.h"

#include "report/store/array.h"
#include "report/unwind/mapped_file.h"
#include "trace/futex.h"
#include "trace/proc_file.h"
#include "trace/text.h"

#include <ctype.h>
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE         4096u
#define HEADERS      64u
#define MAPS_MOST_NS 1000000000u /* the rest of a process's mappings is not looked at */

/* ---- files ---- */

int gv_outside_text(uint32_t pid, const char *file, char *text, size_t size)
{
    int length = gv_proc_read(text, size, "/proc/%u/%s", pid, file);

    for (int i = 0; i < length; i++)
        if (text[i] == '\0')
            text[i] = ' ';
    while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == '\n'))
        text[--length] = '\0';
    return length < 0 ? length : 0;
}

uint32_t gv_outside_inner_tid(uint32_t pid, uint32_t tid)
{
    char text[4096], *numbers, *last;

    if (gv_proc_read(text, sizeof(text), "/proc/%u/task/%u/status", pid, tid) <= 0 ||
        !(numbers = strstr(text, "\nNSpid:")))
        return tid;
    numbers[strcspn(numbers + 1, "\n") + 1] = '\0';
    last = strrchr(numbers, '\t');
    return last ? (uint32_t)strtoul(last, NULL, 10) : tid;
}

bool gv_outside_variable(uint32_t pid, const char *name, char *value, size_t size)
{
    size_t length = strlen(name);
    char text[65536];
    int bytes = gv_proc_read(text, sizeof(text), "/proc/%u/environ", pid);

    for (const char *at = text; bytes > 0 && at < text + bytes; at += strlen(at) + 1)
        if (strncmp(at, name, length) == 0 && at[length] == '=') {
            snprintf(value, size, "%s", at + length + 1);
            return true;
        }
    return false;
}

static uint32_t number_after(const char *text, const char *key, int skipped)
{
    const char *at = strstr(text, key);
    char *end = NULL;
    unsigned long value = 0;

    for (at = at ? at + strlen(key) : NULL; at && skipped >= 0; skipped--, at = end)
        value = strtoul(at, &end, 10);
    return (uint32_t)value;
}

int gv_outside_status(uint32_t pid, struct gv_outside_status *status)
{
    char text[4096];
    int length = gv_proc_read(text, sizeof(text), "/proc/%u/status", pid);
    const char *state = strstr(text, "\nState:\t");

    memset(status, 0, sizeof(*status));
    if (length <= 0 || !state)
        return length == -EACCES || length == -EPERM ? -EPERM : -ESRCH;
    sscanf(text, "Name:\t%63[^\n]", status->name);
    status->state = state[strlen("\nState:\t")];
    status->process = number_after(text, "\nTgid:", 0);
    status->parent = number_after(text, "\nPPid:", 0);
    status->threads = number_after(text, "\nThreads:", 0);
    status->tracer = number_after(text, "\nTracerPid:", 0);
    status->user = number_after(text, "\nUid:", 1);
    return 0;
}

/* Its state; 0: it has ended. */
static char read_stat(uint32_t pid, uint32_t tid, uint64_t *start)
{
    char text[1024], state = 0;
    int length = gv_proc_read(text, sizeof(text), "/proc/%u/task/%u/stat", pid, tid);
    const char *at = length > 0 ? strrchr(text, ')') : NULL;

    *start = 0;
    if (!at || sscanf(at + 1,
                      " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d"
                      " %*d %*d %" SCNu64,
                      &state, start) != 2)
        return 0;
    return state == 'Z' || state == 'X' ? 0 : state;
}

uint64_t gv_outside_start(uint32_t pid, uint32_t tid)
{
    uint64_t start;

    read_stat(pid, tid, &start);
    return start;
}

bool gv_outside_is_there(uint32_t pid, uint32_t tid)
{
    uint64_t start;

    return read_stat(pid, tid, &start) != 0;
}

void gv_outside_program(uint32_t pid, struct gv_outside_program *program)
{
    uint64_t words[64];
    int bytes = gv_proc_read((char *)words, sizeof(words), "/proc/%u/auxv", pid);

    memset(program, 0, sizeof(*program));
    for (int i = 0; i + 1 < bytes / (int)sizeof(words[0]); i += 2)
        if (words[i] == AT_RANDOM)
            (void)gv_outside_read(pid, program->random, words[i + 1], sizeof(program->random));
}

int64_t gv_outside_age_ns(uint64_t start)
{
    char up[64];

    if (!start || gv_proc_read(up, sizeof(up), "/proc/uptime") <= 0)
        return -1;
    double age = strtod(up, NULL) - (double)start / (double)sysconf(_SC_CLK_TCK);
    return age > 0 ? (int64_t)(age * 1e9) : 0;
}

/* ---- memory ---- */

bool gv_outside_read(uint32_t pid, void *to, uintptr_t from, size_t bytes)
{
    struct iovec local = {to, bytes}, remote = {(void *)from, bytes};

    return process_vm_readv((pid_t)pid, &local, 1, &remote, 1, 0) == (ssize_t)bytes;
}

/* Its memory is gone then: closing its files may take long. */
static bool is_ending(uint32_t pid)
{
    const unsigned exiting = 4; /* of the Linux kernel's flags of a thread */
    unsigned flags = 0;
    char text[1024];
    const char *at;

    (void)gv_proc_read(text, sizeof(text), "/proc/%u/stat", pid);
    at = strrchr(text, ')');
    return at && sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %u", &flags) == 1 && flags & exiting;
}

int gv_outside_try(uint32_t pid)
{
    unsigned char head[EI_NIDENT] = {0};
    unsigned long low = 0;
    char text[256];
    int length = gv_proc_read(text, sizeof(text), "/proc/%u/maps", pid);
    struct iovec local = {head, sizeof(head)}, remote = {NULL, sizeof(head)};

    if (length < 0)
        return length == -EACCES || length == -EPERM ? -EPERM : -ESRCH;
    if (length == 0 || sscanf(text, "%lx-", &low) != 1)
        return is_ending(pid) ? -EBUSY : -ENOEXEC;
    remote.iov_base = (void *)low;
    if (process_vm_readv((pid_t)pid, &local, 1, &remote, 1, 0) < 0 && errno != EFAULT)
        return errno == EPERM || errno == EACCES ? -EPERM : -errno;
    return memcmp(head, ELFMAG, SELFMAG) == 0 && head[EI_CLASS] != ELFCLASS64 ? -ENOEXEC : 0;
}

void gv_outside_refusal(uint32_t pid, const struct gv_outside_status *status, char *out,
                        size_t size)
{
    char text[64] = "", path[64];
    int yama =
        gv_proc_read(text, sizeof(text), "/proc/sys/kernel/yama/ptrace_scope") > 0 ? atoi(text) : 0;
    struct stat owner;

    snprintf(path, sizeof(path), "/proc/%u/maps", pid);
    if (status->user != geteuid() && geteuid() != 0)
        snprintf(out, size, "it belongs to another user: sudo gpuverify look %u", pid);
    else if (geteuid() == 0)
        snprintf(out, size,
                 "root may not either: in a container, start it with --cap-add=SYS_PTRACE, or run "
                 "gpuverify look on the host");
    else if (stat(path, &owner) == 0 && owner.st_uid != geteuid())
        snprintf(out, size,
                 "it has more rights than this user, or forbids it (PR_SET_DUMPABLE): sudo "
                 "gpuverify look %u",
                 pid);
    else if (yama >= 3)
        snprintf(out, size, "kernel.yama.ptrace_scope is 3, which only a reboot can change");
    else if (yama > 0)
        snprintf(out, size,
                 "kernel.yama.ptrace_scope is %d: sudo gpuverify look %u, or once: sudo sysctl "
                 "kernel.yama.ptrace_scope=0",
                 yama, pid);
    else
        snprintf(out, size,
                 "something else forbids it: in a container, start it with --cap-add=SYS_PTRACE, "
                 "or run gpuverify look on the host");
}

/* ---- threads ---- */

void gv_outside_name(uint32_t pid, uint32_t tid, char name[GV_OUTSIDE_NAME_BYTES])
{
    (void)gv_proc_read(name, GV_OUTSIDE_NAME_BYTES, "/proc/%u/task/%u/comm", pid, tid);
    name[strcspn(name, "\n")] = '\0';
}

static size_t numbers_in(const char *folder, uint32_t *numbers, size_t most)
{
    DIR *directory = opendir(folder);
    struct dirent *entry;
    size_t count = 0;

    while (directory && count < most && (entry = readdir(directory)))
        if (isdigit((unsigned char)entry->d_name[0]))
            numbers[count++] = (uint32_t)strtoul(entry->d_name, NULL, 10);
    if (directory)
        closedir(directory);
    return count;
}

size_t gv_outside_threads(uint32_t pid, uint32_t *tids, size_t most)
{
    char folder[64];

    snprintf(folder, sizeof(folder), "/proc/%u/task", pid);
    return numbers_in(folder, tids, most);
}

uint32_t gv_outside_reader(uint32_t pid)
{
    static uint32_t tids[GV_OUTSIDE_THREADS];
    size_t count;

    if (gv_outside_is_there(pid, pid))
        return pid;
    count = gv_outside_threads(pid, tids, GV_OUTSIDE_THREADS);
    for (size_t i = 0; i < count; i++)
        if (gv_outside_is_there(pid, tids[i]))
            return tids[i];
    return 0;
}

size_t gv_outside_processes(uint32_t *pids, size_t most)
{
    return numbers_in("/proc", pids, most);
}

/* ---- objects ---- */

/* Reads what the file's first mapping says of it. False: it is no file with code. */
static bool read_headers(uint32_t pid, struct gv_outside_object *object)
{
    unsigned char notes[GV_BUILD_ID_NOTES];
    Elf64_Phdr headers[HEADERS];
    Elf64_Ehdr head;
    bool has_load = false;

    if (!gv_outside_read(pid, &head, object->low, sizeof(head)) ||
        memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
        head.e_phentsize != sizeof(headers[0]) || head.e_phnum == 0 || head.e_phnum > HEADERS ||
        !gv_outside_read(pid, headers, object->low + head.e_phoff,
                         head.e_phnum * sizeof(headers[0])))
        return false;
    for (unsigned i = 0; i < head.e_phnum && !has_load; i++)
        if (headers[i].p_type == PT_LOAD) {
            object->base = object->low - (headers[i].p_vaddr - headers[i].p_offset) / PAGE * PAGE;
            has_load = true;
        }
    for (unsigned i = 0; i < head.e_phnum; i++) {
        if (headers[i].p_type == PT_DYNAMIC) {
            object->dynamic = object->base + headers[i].p_vaddr;
            object->dynamic_bytes = headers[i].p_memsz;
        }
        size_t size = headers[i].p_memsz < sizeof(notes) ? headers[i].p_memsz : sizeof(notes);
        if (headers[i].p_type == PT_NOTE && !object->build_id_bytes &&
            gv_outside_read(pid, notes, object->base + headers[i].p_vaddr, size))
            object->build_id_bytes =
                (uint8_t)gv_build_id_find(notes, size, headers[i].p_align, object->build_id);
    }
    return has_load;
}

struct mapping {
    uint64_t low, high, offset;
    unsigned long inode;
    char path[GV_OUTSIDE_PATH_BYTES];
};

static bool read_mapping(const char *line, const char *root, struct mapping *mapping)
{
    static const char deleted[] = " (deleted)";
    int path = 0;

    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*x:%*x %lu %n", &mapping->low,
               &mapping->high, &mapping->offset, &mapping->inode, &path) < 4 ||
        path == 0 || mapping->high <= mapping->low)
        return false;
    snprintf(mapping->path, sizeof(mapping->path), "%s%s", line[path] == '/' ? root : "",
             line + path);
    size_t length = strcspn(mapping->path, "\n"), tail = strlen(deleted);
    mapping->path[length] = '\0';
    /* The file may be there again: its build id tells whether it is the same. */
    if (length > tail && strcmp(mapping->path + length - tail, deleted) == 0)
        mapping->path[length - tail] = '\0';
    return mapping->path[0] == '/' || strcmp(mapping->path, "[vdso]") == 0;
}

/* What leads to its files: those of another container are below its root. */
static void find_root(uint32_t pid, char *root, size_t size)
{
    char ours[64] = "", theirs[64] = "", path[64];

    root[0] = '\0';
    snprintf(path, sizeof(path), "/proc/%u/ns/mnt", pid);
    if (readlink("/proc/self/ns/mnt", ours, sizeof(ours) - 1) > 0 &&
        readlink(path, theirs, sizeof(theirs) - 1) > 0 && strcmp(ours, theirs) != 0)
        snprintf(root, size, "/proc/%u/root", pid);
}

int gv_outside_objects(uint32_t pid, struct gv_outside_objects *objects)
{
    uint64_t late_ns = gv_monotonic_ns() + MAPS_MOST_NS;
    char path[64], root[64], *line = NULL;
    struct mapping mapping;
    size_t size = 0;
    FILE *maps;
    int error = 0;

    objects->count = 0;
    find_root(pid, root, sizeof(root));
    snprintf(path, sizeof(path), "/proc/%u/maps", pid);
    maps = fopen(path, "re");
    if (!maps)
        return -errno;
    while (!error && objects->count < GV_OUTSIDE_OBJECTS && gv_monotonic_ns() < late_ns &&
           getline(&line, &size, maps) > 0) {
        struct gv_outside_object *last =
            objects->count ? &objects->object[objects->count - 1] : NULL;
        if (!read_mapping(line, root, &mapping))
            continue;
        if (last && mapping.offset && strcmp(last->path, mapping.path) == 0) {
            last->high = mapping.high;
            continue;
        }
        error = gv_array_room(&objects->object, objects->count, &objects->room,
                              sizeof(objects->object[0]));
        if (error)
            break;
        last = &objects->object[objects->count];
        *last = (struct gv_outside_object){.low = mapping.low, .high = mapping.high};
        memcpy(last->path, mapping.path, sizeof(last->path));
        objects->count += read_headers(pid, last);
    }
    free(line);
    fclose(maps);
    return error;
}

const struct gv_outside_object *gv_outside_object_at(const struct gv_outside_objects *objects,
                                                     uint64_t address)
{
    size_t low = 0, high = objects->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (objects->object[middle].high <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < objects->count && objects->object[low].low <= address ? &objects->object[low]
                                                                       : NULL;
}

void gv_outside_objects_free(struct gv_outside_objects *objects)
{
    free(objects->object);
    *objects = (struct gv_outside_objects){NULL, 0, 0};
}
