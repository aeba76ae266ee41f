#include "report/analyse/names/kernel_name.h"

#include "report/analyse/names/demangle.h"
#include "trace/text.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The start of the parameter list that ends the name, or the name's length. */
static size_t kernel_name_parameters(const char *name, size_t length)
{
    static const char constant[] = ") const";
    size_t depth = 0;

    if (length >= sizeof(constant) && strcmp(name + length - (sizeof(constant) - 1), constant) == 0)
        length -= sizeof(constant) - 2;
    if (length == 0 || name[length - 1] != ')')
        return length;
    size_t at = length;
    while (at > 0) {
        at--;
        depth += name[at] == ')';
        depth -= name[at] == '(';
        if (depth == 0)
            return at > 0 ? at : length;
    }
    return length;
}

/* A cut name ends in "...", if there is room. */
static void kernel_name_copy(const char *name, size_t length, char *out, size_t size)
{
    static const char cut[] = "...";
    bool dots = length >= size && size > 2 * sizeof(cut);

    if (length >= size)
        for (length = size - (dots ? sizeof(cut) : 1);
             length > 0 && ((unsigned char)name[length] & 0xc0) == 0x80;)
            length--;
    memmove(out, name, length);
    strcpy(out + length, dots ? cut : "");
}

void gv_kernel_name_qualified(const char *name, char *out, size_t size)
{
    static const char returned[] = "void ";
    char room[GV_KERNEL_NAME_LONG];
    const char *plain = gv_demangle(name ? name : "", room, sizeof(room));

    if (strncmp(plain, returned, sizeof(returned) - 1) == 0)
        plain += sizeof(returned) - 1;
    kernel_name_copy(plain, kernel_name_parameters(plain, strlen(plain)), out, size);
}

/* Whether `text` starts with `part`. */
static bool kernel_name_begins(const char *text, const char *part)
{
    return strncmp(text, part, strlen(part)) == 0;
}

/* The length of a bracketed group; 1 if it has no end. */
static size_t kernel_name_group(const char *text, char open, char close)
{
    size_t depth = 0;

    for (size_t at = 0; text[at]; at++) {
        depth += text[at] == open;
        depth -= text[at] == close;
        if (depth == 0)
            return at + 1;
    }
    return 1;
}

/* Parts to leave out: parameters, call operators of lambdas, ABI tags. Returns the length; 0:
 * the name continues. */
static size_t kernel_name_clutter(const char *text)
{
    static const char call[] = "operator()", constant[] = " const";

    if (kernel_name_begins(text, call))
        return sizeof(call) - 1;
    if (kernel_name_begins(text, "[abi:"))
        return kernel_name_group(text, '[', ']');
    if (*text == '(')
        return kernel_name_group(text, '(', ')');
    if (kernel_name_begins(text, constant) && strchr(":,>", text[sizeof(constant) - 1]))
        return sizeof(constant) - 1;
    return text[0] == ' ' && text[1] == '>';
}

/* The length of `out` without the namespace or class at its end. */
static size_t kernel_name_unqualified(const char *out, size_t used)
{
    size_t depth = 0;

    while (used > 0 && (depth > 0 || !strchr("<,( *&", out[used - 1]))) {
        depth += strchr(">)", out[used - 1]) != NULL;
        depth -= strchr("<(", out[used - 1]) != NULL && depth > 0;
        used--;
    }
    return used;
}

/* "{lambda(int, float)#2}" becomes "{lambda#2}". Of nested lambdas it keeps the innermost,
 * unless all are asked for. Moves `*at` behind it. Returns the new length of `out`, which is
 * never longer than what was read. */
static size_t kernel_name_lambda(const char **at, char *out, size_t used, bool all)
{
    const char *start = *at, *end = start + kernel_name_group(start, '{', '}');
    const char *number = end - 1, *outer = NULL;

    *at = end;
    if (number == start) /* it has no end */
        return used;
    if (!all && used > 3 && memcmp(out + used - 3, "}::", 3) == 0)
        outer = memrchr(out, '{', used);
    if (outer)
        used = (size_t)(outer - out);
    size_t word = strcspn(start, "(#}");
    memcpy(out + used, start, word);
    used += word;
    while (number > start + word && *number != '#')
        number--;
    if (*number != '#')
        number = end - 1;
    memcpy(out + used, number, (size_t)(end - number));
    return used + (size_t)(end - number);
}

/* Removes namespaces and clutter; returns the new length. */
static size_t kernel_name_strip(const char *qualified, bool all, char *out)
{
    size_t used = 0, length;

    for (const char *at = qualified; *at;) {
        if (at != qualified && (length = kernel_name_clutter(at)) > 0) {
            at += length;
        } else if (*at == '{') {
            used = kernel_name_lambda(&at, out, used, all);
        } else if (kernel_name_begins(at, "::") && at[2]) {
            at += 2;
            if (*at == '{') {
                memcpy(out + used, "::", 2);
                used += 2;
            } else if (!kernel_name_clutter(at) ||
                       kernel_name_begins(at, "(anonymous namespace)")) {
                used = kernel_name_unqualified(out, used);
            }
        } else {
            out[used++] = *at++;
        }
    }
    out[used] = '\0';
    return used;
}

/* Replaces template arguments nested deeper than that by "<...>". Returns how deep they are
 * nested. */
static unsigned int kernel_name_fold(const char *name, unsigned int deepest, char *out)
{
    static const char folded[] = "...>";
    const char *last = out + GV_KERNEL_NAME_LONG - sizeof(folded);
    unsigned int depth = 0, most = 0;

    for (; *name && out < last; name++) {
        bool opens = *name == '<', closes = *name == '>' && depth > 0;
        if (closes && depth-- == deepest + 1)
            out = stpcpy(out, folded);
        else if (depth <= deepest)
            *out++ = *name;
        if (opens && ++depth > most)
            most = depth;
    }
    *out = '\0';
    return most;
}

/* As much as fits. */
static void kernel_name_fit(const char *name, unsigned int width, char *out)
{
    unsigned int depth = kernel_name_fold(name, GV_KERNEL_NAME_LONG, out);

    while (depth > 0 && gv_text_width(out) > width)
        kernel_name_fold(name, --depth, out);
}

/* As gv_kernel_name_short(), in about `width` columns, whatever other kernels are called. */
static void kernel_name_within(const char *name, unsigned int width, char *out, size_t size)
{
    char qualified[GV_KERNEL_NAME_LONG], stripped[GV_KERNEL_NAME_LONG], folded[GV_KERNEL_NAME_LONG];

    gv_kernel_name_qualified(name, qualified, sizeof(qualified));
    kernel_name_strip(qualified, false, stripped);
    kernel_name_fit(stripped, width, folded);
    kernel_name_copy(folded, strlen(folded), out, size);
}

void gv_kernel_name_of(const char *name, enum gv_kernel_name_part part, char *out, size_t size)
{
    char qualified[GV_KERNEL_NAME_LONG], stripped[GV_KERNEL_NAME_LONG];
    const char *shown = stripped;

    if (part == GV_KERNEL_NAME_FITTING) {
        kernel_name_within(name, GV_KERNEL_NAME_WIDE, out, size);
        return;
    }
    gv_kernel_name_qualified(name, qualified, sizeof(qualified));
    if (part == GV_KERNEL_NAME_COMPLETE) {
        shown = gv_demangle(name ? name : "", qualified, sizeof(qualified));
    } else if (part == GV_KERNEL_NAME_SCOPED) {
        shown = qualified;
    } else {
        kernel_name_strip(qualified, part == GV_KERNEL_NAME_LAMBDAS, stripped);
    }
    kernel_name_copy(shown, strlen(shown), out, size);
}

void gv_function_name_short(const char *name, char *out, size_t size)
{
    char qualified[GV_KERNEL_NAME_LONG], folded[GV_KERNEL_NAME_LONG];

    gv_kernel_name_qualified(name, qualified, sizeof(qualified));
    kernel_name_fit(qualified, GV_KERNEL_NAME_WIDE, folded);
    if (gv_text_width(folded) > GV_KERNEL_NAME_WIDE) { /* of a lambda in a function */
        kernel_name_strip(qualified, false, folded);
        memcpy(qualified, folded, strlen(folded) + 1);
        kernel_name_fit(qualified, GV_KERNEL_NAME_WIDE, folded);
    }
    kernel_name_copy(folded, strlen(folded), out, size);
}

/* ---- distinct short names for the kernels of all traces read ---- */

/* Shorter names need no "...". */
#define GV_PART_SHORT 24u
/* Deeper template arguments are kept whole. */
#define GV_PART_DEPTH 32
/* Names that are still equal after this many rounds come from traces made to be odd. */
#define GV_PART_ROUNDS 24

struct gv_known_kernel {
    char *name;  /* spelled by kernel_names_plain() */
    char *shown; /* NULL: like any other */
    char *source;
    enum gv_kernel_name_part part; /* of the source */
};

struct gv_slice {
    const char *text;
    size_t length;
};

/* A name or a template argument in parts: "head<arguments>tail". */
struct gv_slice_parts {
    size_t head;      /* its length */
    size_t tail;      /* its start */
    size_t arguments; /* their number */
};

/* Sorted by name. */
static struct gv_known_kernel *known_kernels;
static size_t known_count;

/* One spelling of a name: the linked one, or the written one. */
static const char *kernel_names_plain(const char *name, char room[GV_KERNEL_NAME_LONG])
{
    const char *plain = gv_demangle(name, room, GV_KERNEL_NAME_LONG);
    size_t length = strnlen(plain, GV_KERNEL_NAME_LONG - 1);

    memmove(room, plain, length);
    room[length] = '\0';
    return room;
}

static int kernel_names_by_name(const void *left, const void *right)
{
    const struct gv_known_kernel *one = left, *other = right;

    return strcmp(one->name, other->name);
}

static int kernel_names_by_shown(const void *left, const void *right)
{
    const struct gv_known_kernel *one = left, *other = right;

    return strcmp(one->shown ? one->shown : "", other->shown ? other->shown : "");
}

/* ---- what distinguishes names ---- */

static bool slice_equals(struct gv_slice one, struct gv_slice other)
{
    return one.length == other.length && memcmp(one.text, other.text, one.length) == 0;
}

/* The next argument from `at` on, without leading blanks. Moves `at` behind its comma, or to the
 * bracket that ends the list. */
static struct gv_slice slice_argument(struct gv_slice slice, size_t *at)
{
    size_t depth = 0, start;

    while (*at < slice.length && slice.text[*at] == ' ')
        ++*at;
    for (start = *at; *at < slice.length; ++*at) {
        char character = slice.text[*at];
        if (depth == 0 && (character == ',' || character == '>'))
            break;
        depth += strchr("<({", character) != NULL;
        depth -= strchr(">)}", character) != NULL && depth > 0;
    }
    struct gv_slice argument = {slice.text + start, *at - start};
    *at += *at < slice.length && slice.text[*at] == ',';
    return argument;
}

static struct gv_slice_parts slice_part(struct gv_slice slice)
{
    const char *open = memchr(slice.text, '<', slice.length);
    struct gv_slice_parts parts = {slice.length, slice.length, 0};

    if (!open)
        return parts;
    parts.head = (size_t)(open - slice.text);
    size_t at = parts.head + 1;
    do {
        slice_argument(slice, &at);
        parts.arguments++;
    } while (at < slice.length && (slice.text[at] != '>' || slice.text[at - 1] == ','));
    parts.tail = at < slice.length ? at + 1 : at;
    return parts;
}

static void part_add(char out[GV_KERNEL_NAME_BYTES], const char *text, size_t length)
{
    size_t used = strlen(out);

    if (length > GV_KERNEL_NAME_BYTES - 1 - used)
        length = GV_KERNEL_NAME_BYTES - 1 - used;
    memcpy(out + used, text, length);
    out[used + length] = '\0';
}

/* Adds one that cannot be compared by arguments. */
static void part_add_folded(char out[GV_KERNEL_NAME_BYTES], struct gv_slice slice)
{
    struct gv_slice_parts parts = slice_part(slice);

    if (parts.arguments == 0 || slice.length <= GV_PART_SHORT) {
        part_add(out, slice.text, slice.length);
        return;
    }
    part_add(out, slice.text, parts.head);
    part_add(out, "<...>", 5);
    part_add(out, slice.text + parts.tail, slice.length - parts.tail);
}

/* Whether all have the same name and number of arguments. `*alike`: except for the number. */
static bool part_is_parallel(const struct gv_slice *slices, size_t count, bool *alike)
{
    struct gv_slice_parts first = slice_part(slices[0]);
    bool parallel = first.arguments > 0;

    *alike = true;
    for (size_t i = 1; i < count; i++) {
        struct gv_slice_parts parts = slice_part(slices[i]);
        *alike &=
            slice_equals((struct gv_slice){slices[0].text, first.head},
                         (struct gv_slice){slices[i].text, parts.head}) &&
            slice_equals(
                (struct gv_slice){slices[0].text + first.tail, slices[0].length - first.tail},
                (struct gv_slice){slices[i].text + parts.tail, slices[i].length - parts.tail});
        parallel &= parts.arguments == first.arguments;
    }
    return parallel && *alike;
}

/* Adds to each out[] what distinguishes its slice from the others; "..." replaces what they
 * share. Without memory, adds all. */
static void part_write(const struct gv_slice *slices, size_t count,
                       char (*out)[GV_KERNEL_NAME_BYTES], int depth)
{
    struct gv_slice_parts parts = slice_part(slices[0]);
    bool alike, parallel = part_is_parallel(slices, count, &alike), shared = false;
    struct gv_slice *arguments = calloc(count, sizeof(*arguments));
    size_t *at = calloc(count, sizeof(*at));

    if (!parallel || depth == 0 || !arguments || !at) {
        for (size_t i = 0; i < count; i++)
            if (alike)
                part_add(out[i], slices[i].text, slices[i].length);
            else
                part_add_folded(out[i], slices[i]);
        goto out;
    }
    for (size_t i = 0; i < count; i++) {
        at[i] = parts.head + 1;
        part_add(out[i], slices[i].text, at[i]);
    }
    for (size_t argument = 0; argument < parts.arguments; argument++) {
        bool equal = true;
        for (size_t i = 0; i < count; i++) {
            arguments[i] = slice_argument(slices[i], &at[i]);
            equal &= slice_equals(arguments[0], arguments[i]);
        }
        for (size_t i = 0; i < count && !(equal && shared); i++) {
            part_add(out[i], ", ", argument ? 2 : 0);
            part_add(out[i], "...", equal ? 3 : 0);
        }
        if (!equal)
            part_write(arguments, count, out, depth - 1);
        shared = equal;
    }
    for (size_t i = 0; i < count; i++) {
        struct gv_slice_parts own = slice_part(slices[i]);
        part_add(out[i], ">", 1);
        part_add(out[i], slices[i].text + own.tail, slices[i].length - own.tail);
    }
out:
    free(arguments);
    free(at);
}

/* ---- equal short names ---- */

static void kernel_names_replace(char **text, const char *by)
{
    free(*text);
    *text = strdup(by);
}

/* Uses as much of the names as distinguishes them. */
static void kernel_names_widen(struct gv_known_kernel *kernels, size_t count)
{
    enum gv_kernel_name_part part = GV_KERNEL_NAME_PLAIN;
    bool same = true;

    for (size_t i = 0; i < count; i++)
        part = kernels[i].part > part ? kernels[i].part : part;
    for (; same && part <= GV_KERNEL_NAME_COMPLETE; part++)
        for (size_t i = 0; i < count; i++) {
            char source[GV_KERNEL_NAME_LONG];
            gv_kernel_name_of(kernels[i].name, part, source, sizeof(source));
            kernel_names_replace(&kernels[i].source, source);
            kernels[i].part = part;
            same = same && kernels[i].source && kernels[0].source &&
                   strcmp(kernels[0].source, kernels[i].source) == 0;
        }
}

static void kernel_names_separate(struct gv_known_kernel *kernels, size_t count)
{
    char(*out)[GV_KERNEL_NAME_BYTES] = calloc(count, sizeof(*out));
    struct gv_slice *slices = calloc(count, sizeof(*slices));
    bool whole = out && slices;

    kernel_names_widen(kernels, count);
    for (size_t i = 0; i < count && whole; i++) {
        whole = kernels[i].source != NULL;
        if (whole)
            slices[i] = (struct gv_slice){kernels[i].source, strlen(kernels[i].source)};
    }
    if (whole) {
        part_write(slices, count, out, GV_PART_DEPTH);
        for (size_t i = 0; i < count; i++)
            kernel_names_replace(&kernels[i].shown, out[i]);
    }
    free(out);
    free(slices);
}

/* False: no two are equal. */
static bool kernel_names_compare(struct gv_known_kernel *kernels, size_t count)
{
    bool any = false;

    qsort(kernels, count, sizeof(*kernels), kernel_names_by_shown);
    for (size_t first = 0, next; first < count; first = next) {
        for (next = first + 1; next < count; next++)
            if (kernel_names_by_shown(&kernels[first], &kernels[next]) != 0)
                break;
        if (next - first > 1) {
            kernel_names_separate(kernels + first, next - first);
            any = true;
        }
    }
    return any;
}

static void kernel_names_choose(struct gv_known_kernel *kernels, size_t count, unsigned int width)
{
    for (size_t i = 0; i < count; i++) {
        char shown[GV_KERNEL_NAME_LONG];
        kernels[i].part = GV_KERNEL_NAME_FITTING;
        kernel_name_within(kernels[i].name, width, shown, sizeof(shown));
        kernel_names_replace(&kernels[i].shown, shown);
    }
    for (int round = 0; round < GV_PART_ROUNDS && kernel_names_compare(kernels, count);)
        round++;
    for (size_t i = 0; i < count; i++) {
        free(kernels[i].source);
        kernels[i].source = NULL;
    }
}

/* ---- all kernels ---- */

static void kernel_names_add(struct gv_known_kernel *kernels, size_t *count, const char *name)
{
    char room[GV_KERNEL_NAME_LONG];
    struct gv_known_kernel wanted = {.name = room};

    kernel_names_plain(name, room);
    if (!bsearch(&wanted, kernels, known_count, sizeof(wanted), kernel_names_by_name) &&
        (wanted.name = strdup(room)))
        kernels[(*count)++] = wanted;
}

void gv_kernel_names_learn(sqlite3 *trace)
{
    static const char sql[] = "SELECT name FROM gpu_name WHERE name IS NOT NULL UNION SELECT name"
                              " FROM kernel WHERE name IS NOT NULL";
    struct gv_known_kernel *kernels =
        realloc(known_kernels, GV_KERNEL_NAMES_MOST * sizeof(*kernels));
    size_t count = known_count, kept = 0;
    sqlite3_stmt *rows = NULL;

    if (!kernels)
        return;
    known_kernels = kernels;
    if (sqlite3_prepare_v2(trace, sql, -1, &rows, NULL) == SQLITE_OK)
        while (count < GV_KERNEL_NAMES_MOST && sqlite3_step(rows) == SQLITE_ROW)
            kernel_names_add(kernels, &count, (const char *)sqlite3_column_text(rows, 0));
    sqlite3_finalize(rows);
    qsort(kernels, count, sizeof(*kernels), kernel_names_by_name);
    for (size_t i = 0; i < count; i++) { /* both spellings of one */
        if (kept > 0 && strcmp(kernels[kept - 1].name, kernels[i].name) == 0)
            free(kernels[i].name);
        else
            kernels[kept++] = kernels[i];
    }
    if (kept != known_count) {
        known_count = kept;
        kernel_names_choose(kernels, kept, GV_KERNEL_NAME_WIDE);
        qsort(kernels, kept, sizeof(*kernels), kernel_names_by_name);
        for (size_t i = 0; i < kept; i++)
            if (kernels[i].part == GV_KERNEL_NAME_FITTING) {
                free(kernels[i].shown);
                kernels[i].shown = NULL;
            }
    }
}

/* The short name of a kernel whose plain short name is ambiguous; NULL: it is not. */
static const char *kernel_names_find(const char *name)
{
    char room[GV_KERNEL_NAME_LONG];
    struct gv_known_kernel wanted = {.name = room};
    const struct gv_known_kernel *known;

    if (known_count == 0 || !name)
        return NULL;
    kernel_names_plain(name, room);
    known = bsearch(&wanted, known_kernels, known_count, sizeof(wanted), kernel_names_by_name);
    return known ? known->shown : NULL;
}

void gv_kernel_name_short(const char *name, char *out, size_t size)
{
    const char *known = kernel_names_find(name);

    if (known)
        kernel_name_copy(known, strlen(known), out, size);
    else
        gv_kernel_name_of(name, GV_KERNEL_NAME_FITTING, out, size);
}

void gv_kernel_names_fit(char **names, size_t count, unsigned int width)
{
    struct gv_known_kernel *kernels = calloc(count ? count : 1, sizeof(*kernels)), wanted;
    const struct gv_known_kernel *found;
    size_t different = 0;

    if (!kernels)
        return;
    for (size_t i = 0; i < count; i++)
        kernels[i].name = names[i];
    qsort(kernels, count, sizeof(*kernels), kernel_names_by_name);
    for (size_t i = 0; i < count; i++)
        if (different == 0 || strcmp(kernels[different - 1].name, kernels[i].name) != 0)
            if ((kernels[different].name = strdup(kernels[i].name)))
                different++;
    kernel_names_choose(kernels, different, width);
    qsort(kernels, different, sizeof(*kernels), kernel_names_by_name);
    for (size_t i = 0; i < count; i++) {
        wanted.name = names[i];
        found = bsearch(&wanted, kernels, different, sizeof(*kernels), kernel_names_by_name);
        /* For a name that would be short, the start says more: Kernel2<...> */
        bool little = found && found->shown && found->part == GV_KERNEL_NAME_FITTING &&
                      gv_text_width(found->shown) < width / 2;
        char *shown = found && found->shown && !little ? strdup(found->shown) : NULL;
        if (shown) {
            free(names[i]);
            names[i] = shown;
        }
    }
    for (size_t i = 0; i < different; i++) {
        free(kernels[i].name);
        free(kernels[i].shown);
    }
    free(kernels);
}

bool gv_kernel_is_collective(const char *name)
{
    return strstr(name, "ncclDevKernel_") || strstr(name, "ncclKernel_");
}
