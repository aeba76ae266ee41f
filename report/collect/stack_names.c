#include "report/collect/stack_names.h"

#include "report/analyse/names/demangle.h"
#include "report/analyse/names/runtime_frames.h"
#include "report/analyse/names/stack_text.h"
#include "report/collect/ingest_state.h"
#include "report/collect_stack_names.inc"
#include "report/unwind/mapped_file.h"
#include "report/unwind/unwind.h"
#include "trace/futex.h"
#include "trace/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#ifdef GV_HAS_ELFUTILS
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <limits.h>
#include <stdbool.h>
#endif

/*
 * ---- one file ----
 *
 * Names addresses of a mapped file: function, source file and line, from its symbols and its
 * debugging information, if any. One file is open at a time. Nothing is fetched from a network.
 */

struct gv_object_names;

struct gv_object_place {
    uint64_t address;     /* relative to the file's mapping */
    const char *function; /* linked name; NULL: unknown. Lives as long as the file is open. */
    const char *file;     /* NULL: unknown */
    int line;             /* 0: unknown */
};

/* More than these mean damage. */
#define GV_OBJECT_INLINED 64u /* functions in one another, */
#define GV_OBJECT_SCOPES  256 /* with the blocks between them */
#define GV_OBJECT_HOPS    16  /* from where a function is inlined to where it is written */
#define GV_OBJECT_NAME    512

struct gv_object_inlined {
    struct gv_object_place place;
    char name[GV_OBJECT_NAME]; /* if no file has it */
};

#ifdef GV_HAS_ELFUTILS

struct gv_object_names {
    Dwfl *session;
    Dwfl_Module *module;
    GElf_Addr bias;
};

/* elfutils would wait for a pipe. */
static bool is_no_file(const char *beside, const char *folder, const char *name)
{
    char path[PATH_MAX];
    struct stat status;
    int length = snprintf(path, sizeof(path), "%.*s%s%s", (int)(gv_text_base(beside) - beside),
                          beside, folder, name);

    return length < 0 || (size_t)length >= sizeof(path) ||
           (stat(path, &status) == 0 && !S_ISREG(status.st_mode));
}

/* The file with debugging information that another one names. */
static int find_debuginfo(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base,
                          const char *file, const char *link, GElf_Word crc, char **found)
{
    if (file && link &&
        (strchr(link, '/') || is_no_file(file, "", link) || is_no_file(file, ".debug/", link)))
        return -1;
    return dwfl_standard_find_debuginfo(module, user, name, base, file, link, crc, found);
}

static const Dwfl_Callbacks object_callbacks = {
    .find_elf = dwfl_build_id_find_elf,
    .find_debuginfo = find_debuginfo,
    .section_address = dwfl_offline_section_address,
};

/* Whether the file is the mapped one, by its build id in hex; NULL: that is not known. Before
 * elfutils looks at it, which would unpack whatever is there now: a gigabyte of a megabyte. */
static bool is_mapped_one(const char *path, const char *build_id)
{
    struct gv_mapped_pages *pages = gv_mapped_pages_open();
    struct gv_mapped_file *file = NULL;
    uint8_t bits[GV_UNWIND_BUILD_ID];
    size_t bytes = 0;
    unsigned bit;

    while (build_id && bytes < sizeof(bits) && strlen(build_id) >= 2 * bytes + 2 &&
           sscanf(build_id + 2 * bytes, "%2x", &bit) == 1)
        bits[bytes++] = (uint8_t)bit;
    if (pages) {
        gv_mapped_pages_begin(pages);
        if (gv_mapped_file_open(pages, path, build_id ? bits : NULL, bytes, &file) == 0)
            gv_mapped_file_close(file);
    }
    gv_mapped_pages_close(pages);
    return file != NULL;
}

static void object_close(struct gv_object_names *names)
{
    if (names && names->session)
        dwfl_end(names->session);
    free(names);
}

/* 0; -ENOENT: the mapped file is not there; -ENOSYS: built without elfutils; or -errno. */
static int object_open(struct gv_object_names **names, const char *path, const char *build_id)
{
    struct gv_object_names *opened;
    int error = 0;

    if (!is_mapped_one(path, build_id))
        return -ENOENT;
    opened = calloc(1, sizeof(*opened));
    if (!opened)
        return -ENOMEM;
    opened->session = dwfl_begin(&object_callbacks);
    if (opened->session)
        opened->module = dwfl_report_offline(opened->session, path, path, -1);
    if (!opened->module || dwfl_report_end(opened->session, NULL, NULL) != 0 ||
        !dwfl_module_getelf(opened->module, &opened->bias))
        error = -ENOENT;
    if (error) {
        object_close(opened);
        return error;
    }
    *names = opened;
    return 0;
}

/* The compilation unit of an address. Found through .debug_aranges, which LLVM's compilers do
 * not write, or else by asking each unit. */
static Dwarf_Die *object_unit(Dwfl_Module *module, GElf_Addr at, Dwarf_Addr *bias)
{
    Dwarf_Die *unit = dwfl_module_addrdie(module, at, bias);

    /* Between two units, elfutils returns the first. */
    if (unit && dwarf_haspc(unit, at - *bias) > 0)
        return unit;
    for (unit = dwfl_module_nextcu(module, NULL, bias); unit;
         unit = dwfl_module_nextcu(module, unit, bias))
        if (dwarf_haspc(unit, at - *bias) > 0)
            return unit;
    return NULL;
}

/* Where a search for an address goes on: into code, and into what holds functions. */
static bool object_holds(Dwarf_Die *scope, Dwarf_Addr at, bool *is_code)
{
    switch (dwarf_tag(scope)) {
    case DW_TAG_subprogram:
    case DW_TAG_inlined_subroutine:
    case DW_TAG_lexical_block:
    case DW_TAG_try_block:
    case DW_TAG_catch_block:
        *is_code = true;
        return dwarf_haspc(scope, at) > 0;
    case DW_TAG_namespace:
    case DW_TAG_module:
        *is_code = false;
        return true;
    default:
        return false;
    }
}

/* The next scope inwards. `before`: how far the unit was read: a damaged file's siblings may go
 * round, or lead into each other. */
static bool object_inwards(Dwarf_Die *scope, Dwarf_Addr at, int depth, Dwarf_Off *before,
                           Dwarf_Die *found)
{
    Dwarf_Die child;
    bool is_code;

    if (depth == 0 || dwarf_child(scope, &child) != 0)
        return false;
    do {
        if (dwarf_dieoffset(&child) <= *before)
            return false;
        *before = dwarf_dieoffset(&child);
        if (!object_holds(&child, at, &is_code))
            continue;
        if (is_code)
            *found = child;
        if (is_code || object_inwards(&child, at, depth - 1, before, found))
            return true;
    } while (dwarf_siblingof(&child, &child) == 0);
    return false;
}

/* Writes the names of the scopes around what is at an offset of their unit, and its own. */
static void object_scopes(Dwarf_Die *unit, Dwarf_Off at, char out[GV_OBJECT_NAME])
{
    Dwarf_Die scope = *unit, child;
    size_t used = 0;

    for (int depth = 0; depth < GV_OBJECT_SCOPES && dwarf_dieoffset(&scope) < at &&
                        dwarf_child(&scope, &child) == 0;
         depth++) {
        /* The last one that begins before it. */
        do
            scope = child;
        while (dwarf_siblingof(&scope, &child) == 0 && dwarf_dieoffset(&child) <= at &&
               dwarf_dieoffset(&child) > dwarf_dieoffset(&scope));
        const char *name = dwarf_diename(&scope);
        int tag = dwarf_tag(&scope);
        if (!name)
            name = tag == DW_TAG_namespace ? "(anonymous namespace)"
                   : tag == DW_TAG_structure_type || tag == DW_TAG_class_type ? "{lambda}"
                                                                              : NULL;
        if (name && used < GV_OBJECT_NAME)
            used +=
                (size_t)snprintf(out + used, GV_OBJECT_NAME - used, "%s%s", used ? "::" : "", name);
    }
}

/* As it is linked; or else, as of a lambda, with the scopes in which it is written. */
static const char *object_name(Dwarf_Die *function, char out[GV_OBJECT_NAME])
{
    Dwarf_Attribute attribute;
    Dwarf_Die written = *function, unit;
    const char *linked =
        dwarf_formstring(dwarf_attr_integrate(function, DW_AT_linkage_name, &attribute));

    if (linked || !dwarf_diename(function))
        return linked;
    for (int hops = 0; hops < GV_OBJECT_HOPS; hops++)
        if (!dwarf_formref_die(dwarf_attr(&written, DW_AT_abstract_origin, &attribute), &written) &&
            !dwarf_formref_die(dwarf_attr(&written, DW_AT_specification, &attribute), &written))
            break;
    out[0] = '\0';
    if (dwarf_diecu(&written, &unit, NULL, NULL))
        object_scopes(&unit, dwarf_dieoffset(&written), out);
    return out[0] ? out : dwarf_diename(function);
}

/* The functions that are inlined around an address, outermost first. The line is the innermost
 * one's; each other one, and the place itself, has the line of the call. Returns how many. */
static size_t object_inlined(Dwarf_Die *unit, Dwarf_Addr at, struct gv_object_place *place,
                             struct gv_object_inlined inlined[GV_OBJECT_INLINED])
{
    Dwarf_Die scope = *unit;
    Dwarf_Files *files;
    Dwarf_Off before = 0;
    size_t count = 0;

    if (dwarf_getsrcfiles(unit, &files, NULL) != 0)
        return 0;
    for (int level = 0; level < GV_OBJECT_SCOPES && count < GV_OBJECT_INLINED &&
                        object_inwards(&scope, at, GV_OBJECT_SCOPES, &before, &scope);
         level++) {
        struct gv_object_place *caller = count ? &inlined[count - 1].place : place;
        const char *name = dwarf_tag(&scope) == DW_TAG_inlined_subroutine
                               ? object_name(&scope, inlined[count].name)
                               : NULL;
        Dwarf_Attribute attribute;
        Dwarf_Word file = 0, line = 0;
        if (!name)
            continue;
        dwarf_formudata(dwarf_attr(&scope, DW_AT_call_file, &attribute), &file);
        dwarf_formudata(dwarf_attr(&scope, DW_AT_call_line, &attribute), &line);
        inlined[count++].place =
            (struct gv_object_place){place->address, name, caller->file, caller->line};
        caller->file = line && line <= INT_MAX ? dwarf_filesrc(files, file, NULL, NULL) : NULL;
        caller->line = caller->file ? (int)line : 0;
    }
    return count;
}

static size_t object_line(struct gv_object_names *names, struct gv_object_place *place,
                          struct gv_object_inlined inlined[GV_OBJECT_INLINED])
{
    Dwarf_Addr bias = 0, at = names->bias + place->address;
    Dwarf_Die *unit = object_unit(names->module, at, &bias);
    Dwarf_Line *line = unit ? dwarf_getsrc_die(unit, at - bias) : NULL;

    if (!line || dwarf_lineno(line, &place->line) != 0)
        return 0;
    place->file = dwarf_linesrc(line, NULL, NULL);
    return place->function ? object_inlined(unit, at - bias, place, inlined) : 0;
}

/* A function that an address may be in. */
struct object_symbol {
    const char *name; /* NULL: none */
    GElf_Addr start;
    GElf_Word section;
    unsigned char binding;
};

/* One of the addresses, which are in ascending order. */
struct object_address {
    GElf_Addr at;
    struct object_symbol around; /* the innermost function with a size */
    struct object_symbol
        label;     /* the last one without a size between the address before and this */
    GElf_Addr end; /* of functions that begin between the address before and this */
};

/* The first one at or behind it. */
static size_t object_first(const struct object_address *wanted, size_t count, GElf_Addr start)
{
    size_t low = 0;

    while (low < count) {
        size_t middle = low + (count - low) / 2;
        if (wanted[middle].at < start)
            low = middle + 1;
        else
            count = middle;
    }
    return low;
}

/* Of a function's names, a global one comes first. */
static bool object_is_better(const struct object_symbol *one, const struct object_symbol *other)
{
    if (!other->name || one->start != other->start)
        return !other->name || one->start > other->start;
    return one->binding != other->binding &&
           (one->binding == STB_GLOBAL || other->binding == STB_LOCAL);
}

static void object_offer(struct object_address *wanted, size_t count, struct object_symbol symbol,
                         GElf_Xword size)
{
    size_t first = object_first(wanted, count, symbol.start);

    if (first == count)
        return;
    if (size == 0 && object_is_better(&symbol, &wanted[first].label))
        wanted[first].label = symbol;
    if (symbol.start + size > wanted[first].end)
        wanted[first].end = symbol.start + size;
    for (size_t i = first; i < count && wanted[i].at - symbol.start < size; i++)
        if (object_is_better(&symbol, &wanted[i].around))
            wanted[i].around = symbol;
}

static bool object_is_in(Dwfl_Module *module, GElf_Addr at, GElf_Word section)
{
    Dwarf_Addr bias;
    Elf_Scn *found = dwfl_module_address_section(module, &at, &bias);

    return found && elf_ndxscn(found) == section;
}

/* Reads the symbols once: dwfl_module_addrinfo() would do so for each address. In PyTorch's
 * libraries that takes some ms, and a trace with every stack has thousands of addresses. */
static void object_search(Dwfl_Module *module, struct object_address *wanted, size_t count)
{
    struct object_symbol label = {.name = NULL};
    int symbols = dwfl_module_getsymtab(module);
    GElf_Addr end = 0;

    for (int i = 1; i < symbols; i++) {
        GElf_Sym symbol;
        struct object_symbol one;
        one.name =
            dwfl_module_getsym_info(module, i, &symbol, &one.start, &one.section, NULL, NULL);
        one.binding = GELF_ST_BIND(symbol.st_info);
        int type = GELF_ST_TYPE(symbol.st_info);
        if (one.name && one.name[0] && one.section != SHN_UNDEF && type != STT_SECTION &&
            type != STT_FILE && type != STT_TLS)
            object_offer(wanted, count, one, symbol.st_size);
    }
    for (size_t i = 0; i < count; i++) {
        if (wanted[i].end > end)
            end = wanted[i].end;
        if (wanted[i].label.name)
            label = wanted[i].label;
        /* Assembly. What lies behind a function with a size belongs to nothing before that. */
        if (!wanted[i].around.name && label.name && label.start >= end &&
            object_is_in(module, wanted[i].at, label.section))
            wanted[i].around = label;
    }
}

/* The addresses ascend. 0 or -ENOMEM. */
static int object_functions(struct gv_object_names *names, struct gv_object_place *places,
                            size_t count)
{
    struct object_address *wanted = calloc(count, sizeof(*wanted));

    if (!wanted)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        wanted[i].at = names->bias + places[i].address;
    object_search(names->module, wanted, count);
    for (size_t i = 0; i < count; i++)
        places[i].function = wanted[i].around.name;
    free(wanted);
    return 0;
}

#else

static int object_open(struct gv_object_names **names, const char *path, const char *build_id)
{
    (void)names, (void)path, (void)build_id;
    return -ENOSYS;
}

static void object_close(struct gv_object_names *names)
{
    (void)names;
}

static int object_functions(struct gv_object_names *names, struct gv_object_place *places,
                            size_t count)
{
    (void)names, (void)places, (void)count;
    return 0;
}

static size_t object_line(struct gv_object_names *names, struct gv_object_place *place,
                          struct gv_object_inlined inlined[GV_OBJECT_INLINED])
{
    (void)names, (void)place, (void)inlined;
    return 0;
}

#endif

/* ---- all stacks ---- */

/* Opening a library of a gigabyte takes a second; a program has hundreds at most. */
#define GV_STACK_NAMES_PATIENCE_NS 8000000000u

struct gv_stack_names {
    struct gv_database *database;
    uint64_t end_ns;
    /* the current object */
    int64_t object;
    struct gv_object_place *places;
    size_t count, room;
    size_t inlined; /* of all objects */
};

static int is_late(const struct gv_stack_names *names)
{
    return gv_monotonic_ns() >= names->end_ns;
}

/* As people read it, and without the version of a symbol of the C library:
 * "clock_nanosleep@@GLIBC_2.17". "": the function is unknown. */
static void put_function(const struct gv_object_place *place, char out[1024])
{
    char readable[1024], unversioned[1024];
    const char *name = place->function ? place->function : "";

    if (strchr(name, '@')) {
        snprintf(unversioned, sizeof(unversioned), "%.*s", (int)strcspn(name, "@"), name);
        name = unversioned;
    }
    name = gv_demangle(name, readable, sizeof(readable));
    gv_text_repair(out, 1024, name, strlen(name));
}

/* `level`: of an inlined function, 0 for the outermost one; -1: of the frame itself. */
static int store_place(struct gv_stack_names *names, const struct gv_object_place *place,
                       int64_t level)
{
    char function[1024], file[1024];

    if (!place->function && !place->file)
        return 0;
    put_function(place, function);
    gv_text_repair(file, sizeof(file), place->file ? place->file : "",
                   place->file ? strlen(place->file) : 0);
    names->inlined += level >= 0;
    return gv_database_run(
        names->database, level < 0 ? GV_STATEMENT_FRAME_NAME : GV_STATEMENT_FRAME_INLINED,
        level < 0 ? "iittz" : "iittzi", names->object, (int64_t)place->address + 1,
        function[0] ? function : NULL, file[0] ? file : NULL,
        (int64_t)(place->line > 0 ? place->line : 0), level);
}

static int add_place(void *context, sqlite3_stmt *row)
{
    struct gv_stack_names *names = context;

    if (names->count == names->room) {
        size_t room = names->room ? 2 * names->room : 256;
        void *grown = realloc(names->places, room * sizeof(*names->places));
        if (!grown)
            return -ENOMEM;
        names->places = grown;
        names->room = room;
    }
    /* A return address is behind the call, and may be the next line. */
    names->places[names->count++] =
        (struct gv_object_place){.address = (uint64_t)sqlite3_column_int64(row, 0) - 1};
    return 0;
}

static int name_object(void *context, sqlite3_stmt *row)
{
    struct gv_object_inlined inlined[GV_OBJECT_INLINED];
    struct gv_stack_names *names = context;
    struct gv_object_names *file;

    if (is_late(names))
        return 1;
    names->object = sqlite3_column_int64(row, 0);
    names->count = 0;
    if (object_open(&file, (const char *)sqlite3_column_text(row, 1),
                    (const char *)sqlite3_column_text(row, 2)))
        return 0;
    int error = gv_database_each(names->database->handle, sql_addresses, &names->object, 1,
                                 add_place, names);
    if (!error)
        error = object_functions(file, names->places, names->count);
    for (size_t i = 0; i < names->count && !error; i++) {
        size_t levels = object_line(file, &names->places[i], inlined);
        error = is_late(names) ? 1 : store_place(names, &names->places[i], -1);
        for (size_t level = 0; level < levels && !error; level++)
            error = store_place(names, &inlined[level].place, (int64_t)level);
    }
    object_close(file);
    return error;
}

int gv_stack_names_at(const char *path, int64_t address, char *out, size_t size)
{
    struct gv_object_inlined inlined[GV_OBJECT_INLINED];
    struct gv_object_place place = {.address = (uint64_t)address - 1};
    struct gv_object_names *file;
    char function[1024];

    unsetenv("DEBUGINFOD_URLS");
    int error = object_open(&file, path, NULL);
    if (error)
        return error;
    error = object_functions(file, &place, 1);
    size_t levels = error ? 0 : object_line(file, &place, inlined);
    if (levels)
        place = inlined[levels - 1].place;
    put_function(&place, function);
    const struct gv_frame_names frame = {.function = function[0] ? function : NULL,
                                         .library = path,
                                         .file = place.file,
                                         .line = place.line};
    if (!error && (frame.function || frame.file))
        gv_frame_text(&frame, out, size);
    else if (!error)
        error = -ENOENT;
    object_close(file);
    return error;
}

static int add_size(void *context, sqlite3_stmt *row)
{
    const char *path = (const char *)sqlite3_column_text(row, 1);
    int64_t *bytes = context;
    struct stat status;

    if (path && stat(path, &status) == 0)
        *bytes += status.st_size;
    return 0;
}

int gv_stack_names_bytes(struct gv_database *database, int64_t *bytes)
{
    *bytes = 0;
    return gv_database_each(database->handle, sql_objects, NULL, 0, add_size, bytes);
}

int gv_stack_names_find(struct gv_database *database)
{
    return gv_stack_names_find_until(database, gv_monotonic_ns() + GV_STACK_NAMES_PATIENCE_NS);
}

int gv_stack_names_find_until(struct gv_database *database, uint64_t end_ns)
{
    struct gv_stack_names names = {.database = database, .end_ns = end_ns};

    /* elfutils would ask servers for missing files. */
    unsetenv("DEBUGINFOD_URLS");
    int error = gv_database_script(database->handle, sql_begin, NULL, 0);
    if (!error)
        error = gv_database_each(database->handle, sql_objects, NULL, 0, name_object, &names);
    free(names.places);
    if (error >= 0 && names.inlined)
        error =
            gv_database_script(database->handle, sql_widen, (int64_t[]){GV_INGEST_OUTER_DEPTH}, 1);
    if (error >= 0)
        error = gv_database_script(database->handle, sql_end, NULL, 0);
    return error ? error : gv_runtime_frames_mark(database);
}
