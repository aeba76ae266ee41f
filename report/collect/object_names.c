#include "report/collect/object_names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef GV_HAS_ELFUTILS

#include "report/analyse/names/runtime_frames.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <limits.h>
#include <stdbool.h>

#define GV_BUILD_ID_MOST 64

struct gv_object_names {
    Dwfl *session;
    Dwfl_Module *module;
    GElf_Addr bias;
};

static const Dwfl_Callbacks gv_object_names_callbacks = {
    .find_elf = dwfl_build_id_find_elf,
    .find_debuginfo = dwfl_standard_find_debuginfo,
    .section_address = dwfl_offline_section_address,
};

static int gv_object_names_check(Dwfl_Module *module, const char *build_id)
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

int gv_object_names_open(struct gv_object_names **names, const char *path, const char *build_id)
{
    struct gv_object_names *opened = calloc(1, sizeof(*opened));
    int error = 0;

    if (!opened)
        return -ENOMEM;
    opened->session = dwfl_begin(&gv_object_names_callbacks);
    if (opened->session)
        opened->module = dwfl_report_offline(opened->session, path, path, -1);
    if (!opened->module || dwfl_report_end(opened->session, NULL, NULL) != 0 ||
        !dwfl_module_getelf(opened->module, &opened->bias))
        error = -ENOENT;
    if (!error)
        error = gv_object_names_check(opened->module, build_id);
    if (error) {
        gv_object_names_close(opened);
        return error;
    }
    *names = opened;
    return 0;
}

void gv_object_names_close(struct gv_object_names *names)
{
    if (names && names->session)
        dwfl_end(names->session);
    free(names);
}

/* The compilation unit that an address is in. Found through .debug_aranges, which LLVM's compilers
 * do not write, or else by asking each. */
static Dwarf_Die *gv_object_names_unit(Dwfl_Module *module, GElf_Addr at, Dwarf_Addr *bias)
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
static bool gv_object_names_launches(Dwarf_Die *scope, Dwarf_Addr returns)
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
static void gv_object_names_outwards(Dwarf_Die *unit, Dwarf_Addr at, struct gv_object_place *place)
{
    Dwarf_Die *found = NULL, *scopes = NULL;
    Dwarf_Files *files = NULL;
    size_t count = 0;
    /* The scopes around the innermost one: the first call knows those where it was written. */
    int depth = dwarf_getscopes(unit, at, &found) > 0 ? dwarf_getscopes_die(&found[0], &scopes) : 0;
    bool outwards = gv_runtime_file_is(place->file) ||
                    (depth > 0 && gv_object_names_launches(&scopes[0], at + 1));

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

static void gv_object_names_line(Dwfl_Module *module, GElf_Addr at, struct gv_object_place *place)
{
    Dwarf_Addr bias = 0;
    Dwarf_Die *unit = gv_object_names_unit(module, at, &bias);
    Dwarf_Line *line = unit ? dwarf_getsrc_die(unit, at - bias) : NULL;

    if (!line || dwarf_lineno(line, &place->line) != 0)
        return;
    place->file = dwarf_linesrc(line, NULL, NULL);
    gv_object_names_outwards(unit, at - bias, place);
}

void gv_object_names_find(struct gv_object_names *names, uint64_t address,
                          struct gv_object_place *place)
{
    GElf_Addr at = names->bias + address;
    GElf_Off offset;
    GElf_Sym symbol;

    memset(place, 0, sizeof(*place));
    place->function = dwfl_module_addrinfo(names->module, at, &offset, &symbol, NULL, NULL, NULL);
    gv_object_names_line(names->module, at, place);
}

#else

int gv_object_names_open(struct gv_object_names **names, const char *path, const char *build_id)
{
    (void)names, (void)path, (void)build_id;
    return -ENOSYS;
}

void gv_object_names_close(struct gv_object_names *names)
{
    (void)names;
}

void gv_object_names_find(struct gv_object_names *names, uint64_t address,
                          struct gv_object_place *place)
{
    (void)names, (void)address;
    memset(place, 0, sizeof(*place));
}

#endif
