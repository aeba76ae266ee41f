#include "report/collect/unwind.h"

#include <stdlib.h>

#ifdef GV_HAS_ELFUTILS

#include "trace/futex.h"
#include "trace/mix.h"

#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct gv_unwinder {
    uint32_t pid;
    Dwfl *files;                         /* NULL: none are known */
    uint64_t mapped;                     /* a hash of what is mapped */
    uint64_t read_ns;                    /* when that was last read; 0: never */
    const struct gv_unwind_stack *stack; /* the current one */
    uint64_t *address;
    size_t count;
};

/* ---- the mapped files ---- */

#define GV_UNWIND_READ_NS    200000000  /* takes 1 ms in a process with thousands of mappings */
#define GV_UNWIND_MAPS_BYTES (8u << 20) /* a program with more has no native frames */

/* Debugging information is not needed, and may be large. */
static int no_debuginfo(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
                        const char *file, const char *link, GElf_Word checksum, char **found)
{
    (void)module, (void)data, (void)name, (void)base, (void)file, (void)link, (void)checksum;
    (void)found;
    return -1;
}

static const Dwfl_Callbacks file_callbacks = {
    .find_elf = dwfl_linux_proc_find_elf,
    .find_debuginfo = no_debuginfo,
};

/* Returns how many bytes; 0: it is gone, or we may not. */
static size_t read_maps(uint32_t pid, char **text)
{
    size_t used = 0, room = 1u << 16;
    ssize_t got = -1;
    char path[32];

    snprintf(path, sizeof(path), "/proc/%u/maps", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    *text = NULL;
    while (fd >= 0) {
        char *grown = realloc(*text, room);
        if (!grown)
            break;
        *text = grown;
        while (used < room && (got = read(fd, *text + used, room - used)) > 0)
            used += (size_t)got;
        if (got <= 0 || room >= GV_UNWIND_MAPS_BYTES)
            break;
        room *= 2;
    }
    if (fd >= 0)
        close(fd);
    return got == 0 ? used : 0;
}

/* Of the lines of code: others change all the time. */
static uint64_t hash_maps(const char *text, size_t bytes)
{
    uint64_t hash = 0;

    for (const char *line = text, *end = text + bytes, *next; line < end; line = next) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        next = stop ? stop + 1 : end;
        const char *access = memchr(line, ' ', (size_t)(next - line));
        if (!access || next - access < 4 || access[3] != 'x')
            continue;
        hash = gv_mix_bytes(hash, line, (size_t)(next - line));
    }
    return hash | 1;
}

static pid_t no_thread(Dwfl *files, void *unwinder, void **thread)
{
    (void)files, (void)unwinder, (void)thread;
    return 0;
}

static bool the_thread(Dwfl *files, pid_t tid, void *unwinder, void **thread)
{
    (void)files, (void)tid;
    *thread = unwinder;
    return true;
}

static bool copied_word(Dwfl *files, Dwarf_Addr address, Dwarf_Word *word, void *context)
{
    const struct gv_unwind_stack *stack = ((struct gv_unwinder *)context)->stack;
    uint64_t at = address - stack->sp;

    (void)files;
    if (address < stack->sp || at > stack->size || stack->size - at < sizeof(uint64_t))
        return false;
    uint64_t value;
    memcpy(&value, stack->bytes + at, sizeof(value));
    *word = value;
    return true;
}

#if defined(__x86_64__)
#define GV_UNWIND_SP 7
#elif defined(__aarch64__)
#define GV_UNWIND_SP 31
#endif

static bool copied_registers(Dwfl_Thread *thread, void *context)
{
    const struct gv_unwind_stack *stack = ((struct gv_unwinder *)context)->stack;
    Dwarf_Word word = stack->sp;
    bool set = dwfl_thread_state_registers(thread, GV_UNWIND_SP, 1, &word);

    for (int i = 0; i < (int)GV_UNWIND_REGISTERS; i++) {
        word = stack->value[i];
        if (i != GV_UNWIND_SP && (stack->known >> i & 1))
            set = set && dwfl_thread_state_registers(thread, i, 1, &word);
    }
    dwfl_thread_state_register_pc(thread, stack->pc);
    return set;
}

static const Dwfl_Thread_Callbacks thread_callbacks = {
    .next_thread = no_thread,
    .get_thread = the_thread,
    .memory_read = copied_word,
    .set_initial_registers = copied_registers,
};

static Dwfl *list_files(struct gv_unwinder *unwinder, char *text, size_t bytes)
{
    Dwfl *files = dwfl_begin(&file_callbacks);
    FILE *lines = files ? fmemopen(text, bytes, "r") : NULL;
    bool listed = lines && dwfl_linux_proc_maps_report(files, lines) == 0 &&
                  dwfl_report_end(files, NULL, NULL) == 0 &&
                  dwfl_attach_state(files, NULL, (pid_t)unwinder->pid, &thread_callbacks, unwinder);

    if (lines)
        fclose(lines);
    if (listed)
        return files;
    if (files)
        dwfl_end(files);
    return NULL;
}

void gv_unwinder_refresh(struct gv_unwinder *unwinder)
{
    uint64_t now_ns = gv_monotonic_ns();
    char *text;

    if (unwinder->read_ns && now_ns - unwinder->read_ns < GV_UNWIND_READ_NS)
        return;
    unwinder->read_ns = now_ns;
    size_t bytes = read_maps(unwinder->pid, &text);
    uint64_t mapped = bytes ? hash_maps(text, bytes) : unwinder->mapped;
    if (mapped != unwinder->mapped) {
        if (unwinder->files)
            dwfl_end(unwinder->files);
        unwinder->files = list_files(unwinder, text, bytes);
        unwinder->mapped = mapped;
    }
    free(text);
}

bool gv_unwinder_object(struct gv_unwinder *unwinder, uint64_t address,
                        struct gv_unwind_object *object)
{
    Dwfl_Module *module = unwinder->files ? dwfl_addrmodule(unwinder->files, address) : NULL;
    const unsigned char *bits;
    GElf_Addr base, at;
    Dwarf_Addr low, high;
    void **told;

    if (!module || !dwfl_module_getelf(module, &base))
        return false;
    const char *path = dwfl_module_info(module, &told, &low, &high, NULL, NULL, NULL, NULL);
    if (*told || path[0] != '/')
        return false;
    *told = unwinder;
    *object = (struct gv_unwind_object){.base = base, .low = low, .high = high, .path = path};
    int bytes = dwfl_module_build_id(module, &bits, &at);
    for (int i = 0; i < bytes && i < (int)GV_UNWIND_BUILD_ID; i++)
        snprintf(object->build_id + 2 * i, 3, "%02x", bits[i]);
    return true;
}

const char *gv_unwinder_path(struct gv_unwinder *unwinder, uint64_t address)
{
    Dwfl_Module *module = unwinder->files ? dwfl_addrmodule(unwinder->files, address) : NULL;

    return module ? dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, NULL, NULL) : NULL;
}

/* ---- one stack ---- */

static int take_frame(Dwfl_Frame *frame, void *context)
{
    struct gv_unwinder *unwinder = context;
    Dwarf_Addr pc;

    if (unwinder->count == GV_UNWIND_FRAMES || !dwfl_frame_pc(frame, &pc, NULL) || pc == 0)
        return DWARF_CB_ABORT;
    unwinder->address[unwinder->count++] = pc;
    return DWARF_CB_OK;
}

static size_t walk(struct gv_unwinder *unwinder, const struct gv_unwind_stack *stack,
                   uint64_t address[GV_UNWIND_FRAMES])
{
    unwinder->stack = stack;
    unwinder->address = address;
    unwinder->count = 0;
    /* It says that it failed also at the end of what is known. */
    if (unwinder->files)
        dwfl_getthread_frames(unwinder->files, (pid_t)unwinder->pid, take_frame, unwinder);
    unwinder->stack = NULL;
    return unwinder->count;
}

#ifdef __x86_64__

/*
 * An unknown frame pointer. A function that uses one begins with pushing its caller's, so there are
 * the caller's frame pointer and the return address at it. It is near the end of the stack. What
 * looks like it may be left from an earlier call, so the return address has to follow a call of
 * the function, as far as the code tells.
 */

#define GV_UNWIND_FP       6
#define GV_UNWIND_FP_REACH 4096u
#define GV_UNWIND_CODE     6 /* bytes of a call */

/* The code before `address`, and the name of its section. */
static bool code_before(struct gv_unwinder *unwinder, uint64_t address,
                        unsigned char code[GV_UNWIND_CODE])
{
    Dwfl_Module *module = dwfl_addrmodule(unwinder->files, address);
    Dwarf_Addr at = address, bias;
    Elf_Scn *section = module ? dwfl_module_address_section(module, &at, &bias) : NULL;
    Elf_Data *data = section ? elf_rawdata(section, NULL) : NULL;

    if (!data || !data->d_buf || at < GV_UNWIND_CODE || at > data->d_size)
        return false;
    memcpy(code, (const unsigned char *)data->d_buf + at - GV_UNWIND_CODE, GV_UNWIND_CODE);
    return true;
}

/* 0: unknown. */
static uint64_t function_at(struct gv_unwinder *unwinder, uint64_t address)
{
    Dwfl_Module *module = dwfl_addrmodule(unwinder->files, address);
    GElf_Off offset;
    GElf_Sym symbol;

    return module && dwfl_module_addrinfo(module, address, &offset, &symbol, NULL, NULL, NULL)
               ? address - offset
               : 0;
}

/* How sure it is that what returns to an address was called from there. */
enum fit { FIT_NONE, FIT_POSSIBLE, FIT_LIKELY, FIT_SURE };

/* `function`: that of the address `last`; 0: unknown. */
static enum fit fit_of(struct gv_unwinder *unwinder, uint64_t last, uint64_t function,
                       uint64_t returns)
{
    unsigned char code[GV_UNWIND_CODE];
    int32_t distance;

    if (!code_before(unwinder, returns, code))
        return FIT_NONE;
    if (code[1] == 0xe8) {
        memcpy(&distance, code + 2, sizeof(distance));
        uint64_t target = returns + (uint64_t)(int64_t)distance;
        if (target == function)
            return FIT_SURE;
        /* One of another file is called through a stub, */
        return !function || dwfl_addrmodule(unwinder->files, target) !=
                                dwfl_addrmodule(unwinder->files, last)
                   ? FIT_LIKELY
                   : FIT_NONE;
    }
    /* or the program's table. */
    if (code[0] == 0xff && code[1] == 0x15)
        return FIT_LIKELY;
    /* Through a register, or memory at one: of six, three or two bytes */
    return (code[0] == 0xff && (code[1] & 0xf8) == 0x90) ||
                   (code[3] == 0xff && (code[4] & 0xf8) == 0x50) ||
                   (code[4] == 0xff && (code[5] & 0xf8) == 0xd0)
               ? FIT_POSSIBLE
               : FIT_NONE;
}

/* Of those that fit best, the nearest one. What a hook calls through its table is often left on the
 * stack, and may be any function: sleeping programs on an H100 seemed to be inside
 * cuCtxSynchronize. */
static size_t walk_by_frame_pointer(struct gv_unwinder *unwinder,
                                    const struct gv_unwind_stack *stack,
                                    uint64_t address[GV_UNWIND_FRAMES], size_t count)
{
    struct gv_unwind_stack guess = *stack;
    uint64_t further[GV_UNWIND_FRAMES], returns, last = address[count - 1];
    size_t reach = stack->size < GV_UNWIND_FP_REACH ? stack->size : GV_UNWIND_FP_REACH;
    uint64_t function = function_at(unwinder, last);
    size_t known = count;
    enum fit best = FIT_NONE;
    bool needed = false;

    guess.known |= 1u << GV_UNWIND_FP;
    for (size_t at = -stack->sp & 15; at + 16 <= reach && best != FIT_SURE; at += 16) {
        memcpy(&returns, stack->bytes + at + 8, sizeof(returns));
        if (returns == 0)
            continue;
        enum fit fit = fit_of(unwinder, last, function, returns);
        if (needed && fit <= best)
            continue;
        guess.value[GV_UNWIND_FP] = stack->sp + at;
        size_t frames = walk(unwinder, &guess, further);
        /* With any frame pointer there is a next frame, unless this is the outermost. */
        if (frames <= known && !needed)
            break;
        needed = true;
        if (fit > best && frames > known && further[known] == returns) {
            memcpy(address, further, frames * sizeof(*address));
            count = frames;
            best = fit;
        }
    }
    return count;
}

#endif

size_t gv_unwinder_walk(struct gv_unwinder *unwinder, const struct gv_unwind_stack *stack,
                        uint64_t address[GV_UNWIND_FRAMES])
{
    size_t count = walk(unwinder, stack, address);

#ifdef __x86_64__
    if (count > 0 && count < GV_UNWIND_FRAMES && !(stack->known >> GV_UNWIND_FP & 1))
        count = walk_by_frame_pointer(unwinder, stack, address, count);
#endif
    return count;
}

struct gv_unwinder *gv_unwinder_open(uint32_t pid)
{
    struct gv_unwinder *unwinder = calloc(1, sizeof(*unwinder));

    if (unwinder)
        unwinder->pid = pid;
    return unwinder;
}

void gv_unwinder_close(struct gv_unwinder *unwinder)
{
    if (unwinder && unwinder->files)
        dwfl_end(unwinder->files);
    free(unwinder);
}

#else

struct gv_unwinder {
    char none;
};

struct gv_unwinder *gv_unwinder_open(uint32_t pid)
{
    (void)pid;
    return calloc(1, sizeof(struct gv_unwinder));
}

void gv_unwinder_close(struct gv_unwinder *unwinder)
{
    free(unwinder);
}

void gv_unwinder_refresh(struct gv_unwinder *unwinder)
{
    (void)unwinder;
}

size_t gv_unwinder_walk(struct gv_unwinder *unwinder, const struct gv_unwind_stack *stack,
                        uint64_t address[GV_UNWIND_FRAMES])
{
    (void)unwinder, (void)stack, (void)address;
    return 0;
}

bool gv_unwinder_object(struct gv_unwinder *unwinder, uint64_t address,
                        struct gv_unwind_object *object)
{
    (void)unwinder, (void)address, (void)object;
    return false;
}

const char *gv_unwinder_path(struct gv_unwinder *unwinder, uint64_t address)
{
    (void)unwinder, (void)address;
    return NULL;
}

#endif
