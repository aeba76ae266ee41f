#include "report/analyse/names/kernel_name.h"

#include "report/analyse/names/demangle.h"
#include "report/analyse/names/kernel_names.h"
#include "trace/text.h"

#include <stdbool.h>
#include <string.h>

/* Where the parameter list begins that ends the name; its length if there is none. */
static size_t gv_kernel_name_parameters(const char *name, size_t length)
{
    size_t at = length, depth = 0;

    if (length == 0 || name[length - 1] != ')')
        return length;
    while (at > 0) {
        at--;
        depth += name[at] == ')';
        depth -= name[at] == '(';
        if (depth == 0)
            return at > 0 ? at : length;
    }
    return length;
}

/* What is cut ends in "...", if there is room for that. */
static void gv_kernel_name_copy(const char *name, size_t length, char *out, size_t size)
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
    gv_kernel_name_copy(plain, gv_kernel_name_parameters(plain, strlen(plain)), out, size);
}

/* Whether `text` begins with `part`. */
static bool gv_kernel_name_begins(const char *text, const char *part)
{
    return strncmp(text, part, strlen(part)) == 0;
}

/* How long the group is that begins with a bracket; 1 if it has no end. */
static size_t gv_kernel_name_group(const char *text, char open, char close)
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

/* What a name can do without: parameters, the operators that lambdas are called by, ABI tags. Its
 * length; 0: the name goes on. */
static size_t gv_kernel_name_clutter(const char *text)
{
    static const char call[] = "operator()", constant[] = " const";

    if (gv_kernel_name_begins(text, call))
        return sizeof(call) - 1;
    if (gv_kernel_name_begins(text, "[abi:"))
        return gv_kernel_name_group(text, '[', ']');
    if (*text == '(')
        return gv_kernel_name_group(text, '(', ')');
    if (gv_kernel_name_begins(text, constant) && strchr(":,>", text[sizeof(constant) - 1]))
        return sizeof(constant) - 1;
    return text[0] == ' ' && text[1] == '>';
}

/* The length of `out` without the namespace or class at its end. */
static size_t gv_kernel_name_unqualified(const char *out, size_t used)
{
    size_t depth = 0;

    while (used > 0 && (depth > 0 || !strchr("<,( *&", out[used - 1]))) {
        depth += strchr(">)", out[used - 1]) != NULL;
        depth -= strchr("<(", out[used - 1]) != NULL && depth > 0;
        used--;
    }
    return used;
}

/* "{lambda(int, float)#2}" as "{lambda#2}"; of lambdas in each other the innermost, unless all are
 * asked for. `*at` is moved behind it. The new length of `out`, which never becomes longer than
 * what was read. */
static size_t gv_kernel_name_lambda(const char **at, char *out, size_t used, bool all)
{
    const char *start = *at, *end = start + gv_kernel_name_group(start, '{', '}');
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

/* Without namespaces and clutter: the new length. */
static size_t gv_kernel_name_strip(const char *qualified, bool all, char *out)
{
    size_t used = 0, length;

    for (const char *at = qualified; *at;) {
        if (at != qualified && (length = gv_kernel_name_clutter(at)) > 0) {
            at += length;
        } else if (*at == '{') {
            used = gv_kernel_name_lambda(&at, out, used, all);
        } else if (gv_kernel_name_begins(at, "::") && at[2]) {
            at += 2;
            if (*at == '{') {
                memcpy(out + used, "::", 2);
                used += 2;
            } else if (!gv_kernel_name_clutter(at) ||
                       gv_kernel_name_begins(at, "(anonymous namespace)")) {
                used = gv_kernel_name_unqualified(out, used);
            }
        } else {
            out[used++] = *at++;
        }
    }
    out[used] = '\0';
    return used;
}

/* Template arguments that are nested deeper than that become "<...>". Returns how deep they are. */
static unsigned int gv_kernel_name_fold(const char *name, unsigned int deepest, char *out)
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
static void gv_kernel_name_fit(const char *name, unsigned int width, char *out)
{
    unsigned int depth = gv_kernel_name_fold(name, GV_KERNEL_NAME_LONG, out);

    while (depth > 0 && gv_text_width(out) > width)
        gv_kernel_name_fold(name, --depth, out);
}

void gv_kernel_name_within(const char *name, unsigned int width, char *out, size_t size)
{
    char qualified[GV_KERNEL_NAME_LONG], stripped[GV_KERNEL_NAME_LONG], folded[GV_KERNEL_NAME_LONG];

    gv_kernel_name_qualified(name, qualified, sizeof(qualified));
    gv_kernel_name_strip(qualified, false, stripped);
    gv_kernel_name_fit(stripped, width, folded);
    gv_kernel_name_copy(folded, strlen(folded), out, size);
}

void gv_kernel_name_of(const char *name, enum gv_kernel_name_part part, char *out, size_t size)
{
    char qualified[GV_KERNEL_NAME_LONG], stripped[GV_KERNEL_NAME_LONG];
    const char *shown = stripped;

    if (part == GV_KERNEL_NAME_FITTING) {
        gv_kernel_name_within(name, GV_KERNEL_NAME_WIDE, out, size);
        return;
    }
    gv_kernel_name_qualified(name, qualified, sizeof(qualified));
    if (part == GV_KERNEL_NAME_COMPLETE) {
        shown = gv_demangle(name ? name : "", qualified, sizeof(qualified));
    } else if (part == GV_KERNEL_NAME_SCOPED) {
        shown = qualified;
    } else {
        gv_kernel_name_strip(qualified, part == GV_KERNEL_NAME_LAMBDAS, stripped);
    }
    gv_kernel_name_copy(shown, strlen(shown), out, size);
}

void gv_function_name_short(const char *name, char *out, size_t size)
{
    char qualified[GV_KERNEL_NAME_LONG], folded[GV_KERNEL_NAME_LONG];
    const char *shown = name;

    if (gv_text_width(name) > GV_KERNEL_NAME_WIDE) {
        gv_kernel_name_qualified(name, qualified, sizeof(qualified));
        gv_kernel_name_fit(qualified, GV_KERNEL_NAME_WIDE, folded);
        shown = folded;
    }
    gv_kernel_name_copy(shown, strlen(shown), out, size);
}

void gv_kernel_name_short(const char *name, char *out, size_t size)
{
    const char *known = gv_kernel_names_find(name);

    if (known)
        gv_kernel_name_copy(known, strlen(known), out, size);
    else
        gv_kernel_name_of(name, GV_KERNEL_NAME_FITTING, out, size);
}
