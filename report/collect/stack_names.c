#include "report/collect/stack_names.h"

#include "report/analyse/names/demangle.h"
#include "report/analyse/names/runtime_frames.h"
#include "trace/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
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
 * What the addresses in a mapped file are called: function, source file and line, from its symbols
 * and its debugging information, where it has any. One file is open at a time. Nothing is fetched
 * from a network.
 */

struct gv_object_names;

struct gv_object_place {
    const char *function; /* as it is linked; NULL: unknown. Lives as long as the file is open. */
    const char *file;     /* NULL: unknown */
    int line;             /* 0: unknown */
};

#ifdef GV_HAS_ELFUTILS

#define GV_BUILD_ID_MOST 64

struct gv_object_names {
    Dwfl *session;
    Dwfl_Module *module;
    GElf_Addr bias;
};

static const Dwfl_Callbacks object_callbacks = {
    .find_elf = dwfl_build_id_find_elf,
    .find_debuginfo = dwfl_standard_find_debuginfo,
    .section_address = dwfl_offline_section_address,
};

static int object_check(Dwfl_Module *module, const char *build_id)
{
    const unsigned char *bits;
    GElf_Addr address;
    char text[2 * GV_BUILD_ID_MOST + 1] = "";
    int bytes = dwfl_module_build_id(module, &bits, &address);

    if (!build_id)
        return 0;
    for (int i = 0; i < bytes && i < GV_BUILD_ID_MOST; i++)
        snprintf(text + 2 * i, 3, "%02x", bits[i]);
    return strcmp(text, build_id) == 0 ? 0 : -ESTALE;
}

static void object_close(struct gv_object_names *names)
{
    if (names && names->session)
        dwfl_end(names->session);
    free(names);
}

/* `build_id` in hex, or NULL: a file that has another one now is not the one that was mapped. 0;
 * -ESTALE: it is another file; -ENOSYS: built without elfutils; or -errno. */
static int object_open(struct gv_object_names **names, const char *path, const char *build_id)
{
    struct gv_object_names *opened = calloc(1, sizeof(*opened));
    int error = 0;

    if (!opened)
        return -ENOMEM;
    opened->session = dwfl_begin(&object_callbacks);
    if (opened->session)
        opened->module = dwfl_report_offline(opened->session, path, path, -1);
    if (!opened->module || dwfl_report_end(opened->session, NULL, NULL) != 0 ||
        !dwfl_module_getelf(opened->module, &opened->bias))
        error = -ENOENT;
    if (!error)
        error = object_check(opened->module, build_id);
    if (error) {
        object_close(opened);
        return error;
    }
    *names = opened;
    return 0;
}

/* The compilation unit that an address is in. Found through .debug_aranges, which LLVM's compilers
 * do not write, or else by asking each. */
static Dwarf_Die *object_unit(Dwfl_Module *module, GElf_Addr at, Dwarf_Addr *bias)
{
    Dwarf_Die *unit = dwfl_module_addrdie(module, at, bias);

    /* Between two units, elfutils answers with the first. */
    if (unit && dwarf_haspc(unit, at - *bias) > 0)
        return unit;
    for (unit = dwfl_module_nextcu(module, NULL, bias); unit;
         unit = dwfl_module_nextcu(module, unit, bias))
        if (dwarf_haspc(unit, at - *bias) > 0)
            return unit;
    return NULL;
}

/* Whether what returns to that place was called there from this scope, and is what nvcc makes to
 * launch a kernel. */
static bool object_launches(Dwarf_Die *scope, Dwarf_Addr returns)
{
    Dwarf_Attribute attribute;
    Dwarf_Die call, called;
    Dwarf_Addr after;
    int more = dwarf_child(scope, &call);

    for (; more == 0; more = dwarf_siblingof(&call, &call)) {
        bool old = dwarf_tag(&call) == DW_TAG_GNU_call_site; /* before DWARF 5 */
        if (!old && dwarf_tag(&call) != DW_TAG_call_site)
            continue;
        if (dwarf_formaddr(dwarf_attr(&call, old ? DW_AT_low_pc : DW_AT_call_return_pc, &attribute),
                           &after) == 0 &&
            after == returns &&
            dwarf_formref_die(
                dwarf_attr(&call, old ? DW_AT_abstract_origin : DW_AT_call_origin, &attribute),
                &called))
            return gv_runtime_function_is(dwarf_diename(&called));
    }
    return false;
}

/* What was inlined from the toolkit's headers, and the kernel's function that nvcc makes for the
 * host, is not where the program is: its line is where they were called. */
static void object_outwards(Dwarf_Die *unit, Dwarf_Addr at, struct gv_object_place *place)
{
    Dwarf_Die *found = NULL, *scopes = NULL;
    Dwarf_Files *files = NULL;
    size_t count = 0;
    /* The scopes around the innermost one: the first call knows those where it was written. */
    int depth = dwarf_getscopes(unit, at, &found) > 0 ? dwarf_getscopes_die(&found[0], &scopes) : 0;
    bool outwards =
        gv_runtime_file_is(place->file) || (depth > 0 && object_launches(&scopes[0], at + 1));

    if (!outwards || dwarf_getsrcfiles(unit, &files, &count) != 0)
        depth = 0;
    for (int i = 0; i < depth && outwards; i++) {
        Dwarf_Attribute attribute;
        Dwarf_Word file, line;
        if (dwarf_tag(&scopes[i]) != DW_TAG_inlined_subroutine ||
            dwarf_formudata(dwarf_attr(&scopes[i], DW_AT_call_file, &attribute), &file) != 0 ||
            dwarf_formudata(dwarf_attr(&scopes[i], DW_AT_call_line, &attribute), &line) != 0)
            continue;
        const char *path = dwarf_filesrc(files, (size_t)file, NULL, NULL);
        /* A stub is called by the kernel's function. */
        outwards = !path || line > INT_MAX || gv_runtime_file_is(path) ||
                   gv_runtime_function_is(dwarf_diename(&scopes[i]));
        if (!outwards) {
            place->file = path;
            place->line = (int)line;
        }
    }
    free(scopes);
    free(found);
}

static void object_line(Dwfl_Module *module, GElf_Addr at, struct gv_object_place *place)
{
    Dwarf_Addr bias = 0;
    Dwarf_Die *unit = object_unit(module, at, &bias);
    Dwarf_Line *line = unit ? dwarf_getsrc_die(unit, at - bias) : NULL;

    if (!line || dwarf_lineno(line, &place->line) != 0)
        return;
    place->file = dwarf_linesrc(line, NULL, NULL);
    object_outwards(unit, at - bias, place);
}

/* `address` is relative to where the file was mapped. */
static void object_find(struct gv_object_names *names, uint64_t address,
                        struct gv_object_place *place)
{
    GElf_Addr at = names->bias + address;
    GElf_Off offset;
    GElf_Sym symbol;

    memset(place, 0, sizeof(*place));
    place->function = dwfl_module_addrinfo(names->module, at, &offset, &symbol, NULL, NULL, NULL);
    object_line(names->module, at, place);
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

static void object_find(struct gv_object_names *names, uint64_t address,
                        struct gv_object_place *place)
{
    (void)names, (void)address;
    memset(place, 0, sizeof(*place));
}

#endif

/* ---- all stacks ---- */

/* A library of a gigabyte takes a second to open; a program has hundreds of them at most. */
#define GV_STACK_NAMES_PATIENCE_S 8

static const char objects_sql[] =
    "SELECT o.id, o.path, o.build_id FROM object o WHERE o.path IS NOT NULL AND EXISTS"
    " (SELECT 1 FROM frame f WHERE f.object = o.id AND f.function IS NULL)";
/* The address before it: where a call returns to is behind it, and may be the next line. */
static const char frames_sql[] =
    "SELECT DISTINCT address FROM frame WHERE object = ? AND function IS NULL";
static const char update_sql[] =
    "UPDATE frame SET function = ?3, file = ?4, line = ?5 WHERE object = ?1 AND address = ?2";

struct gv_stack_names {
    sqlite3 *trace;
    sqlite3_stmt *frames;
    sqlite3_stmt *update;
    struct timespec end;
};

static int is_late(const struct gv_stack_names *names)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec >= names->end.tv_sec;
}

static int store_place(struct gv_stack_names *names, int64_t object, int64_t address,
                       const struct gv_object_place *place)
{
    char function[1024], file[1024];
    char readable[1024];
    int result;

    if (!place->function && !place->file)
        return 0;
    const char *name = place->function ? place->function : "";
    name = gv_demangle(name, readable, sizeof(readable));
    gv_text_repair(function, sizeof(function), name, strlen(name));
    gv_text_repair(file, sizeof(file), place->file ? place->file : "",
                   place->file ? strlen(place->file) : 0);
    result = sqlite3_bind_int64(names->update, 1, object);
    if (result == SQLITE_OK)
        result = sqlite3_bind_int64(names->update, 2, address);
    if (result == SQLITE_OK)
        result =
            sqlite3_bind_text(names->update, 3, function[0] ? function : NULL, -1, SQLITE_STATIC);
    if (result == SQLITE_OK)
        result = sqlite3_bind_text(names->update, 4, file[0] ? file : NULL, -1, SQLITE_STATIC);
    if (result == SQLITE_OK)
        result = place->line > 0 ? sqlite3_bind_int64(names->update, 5, place->line)
                                 : sqlite3_bind_null(names->update, 5);
    if (result == SQLITE_OK)
        result = sqlite3_step(names->update);
    sqlite3_reset(names->update);
    return gv_database_error(names->trace, result);
}

static int name_object(struct gv_stack_names *names, int64_t object, const char *path,
                       const char *build_id)
{
    struct gv_object_names *file;
    int result, error;

    if (object_open(&file, path, build_id))
        return 0;
    result = sqlite3_bind_int64(names->frames, 1, object);
    error = gv_database_error(names->trace, result);
    while (!error && !is_late(names) && (result = sqlite3_step(names->frames)) == SQLITE_ROW) {
        struct gv_object_place place;
        int64_t address = sqlite3_column_int64(names->frames, 0);

        object_find(file, (uint64_t)address - 1, &place);
        error = store_place(names, object, address, &place);
    }
    if (!error)
        error = gv_database_error(names->trace, result);
    sqlite3_reset(names->frames);
    object_close(file);
    return error;
}

int gv_stack_names_find(struct gv_database *database)
{
    struct gv_stack_names names = {.trace = database->handle};
    sqlite3_stmt *objects = NULL;
    int result = sqlite3_prepare_v2(names.trace, objects_sql, -1, &objects, NULL);
    int error;

    if (result == SQLITE_OK)
        result = sqlite3_prepare_v2(names.trace, frames_sql, -1, &names.frames, NULL);
    if (result == SQLITE_OK)
        result = sqlite3_prepare_v2(names.trace, update_sql, -1, &names.update, NULL);
    error = gv_database_error(names.trace, result);
    /* elfutils would ask servers for what it does not find. */
    unsetenv("DEBUGINFOD_URLS");
    clock_gettime(CLOCK_MONOTONIC, &names.end);
    names.end.tv_sec += GV_STACK_NAMES_PATIENCE_S;
    while (!error && !is_late(&names) && (result = sqlite3_step(objects)) == SQLITE_ROW)
        error = name_object(&names, sqlite3_column_int64(objects, 0),
                            (const char *)sqlite3_column_text(objects, 1),
                            (const char *)sqlite3_column_text(objects, 2));
    if (!error)
        error = gv_database_error(names.trace, result);
    sqlite3_finalize(objects);
    sqlite3_finalize(names.frames);
    sqlite3_finalize(names.update);
    return error ? error : gv_runtime_frames_mark(database);
}
