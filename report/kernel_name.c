#include "report/kernel_name.h"

#include "report/demangle.h"
#include "report/kernel_names.h"
#include "trace/text.h"

#include <stdbool.h>
#include <string.h>

/* What is wider fills a summary. */
#define GV_KERNEL_NAME_WIDE 80u

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

static void gv_kernel_name_copy(const char *name, size_t length, char *out, size_t size)
{
    if (length >= size)
        for (length = size - 1; length > 0 && ((unsigned char)name[length] & 0xc0) == 0x80;)
            length--;
    memmove(out, name, length);
    out[length] = '\0';
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
        depth += out[used - 1] == '>';
        depth -= out[used - 1] == '<' && depth > 0;
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
    const char *number = end - 1;

    *at = end;
    if (number == start) /* it has no end */
        return used;
    if (!all && used > 3 && memcmp(out + used - 3, "}::", 3) == 0)
        while (out[used] != '{')
            used--;
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

unsigned int gv_kernel_name_at(const char *name, unsigned int level, char *out, size_t size)
{
    char qualified[GV_KERNEL_NAME_LONG], stripped[GV_KERNEL_NAME_LONG], folded[GV_KERNEL_NAME_LONG];
    const char *shown = folded;
    unsigned int depth;

    gv_kernel_name_qualified(name, qualified, sizeof(qualified));
    gv_kernel_name_strip(qualified, false, stripped);
    depth = gv_kernel_name_fold(stripped, GV_KERNEL_NAME_LONG, folded);
    if (level == GV_KERNEL_NAME_FITTING)
        for (level = depth; level > 0 && gv_text_width(folded) > GV_KERNEL_NAME_WIDE;)
            gv_kernel_name_fold(stripped, --level, folded);
    else if (level <= depth)
        gv_kernel_name_fold(stripped, level, folded);
    else if (level == depth + 1)
        gv_kernel_name_strip(qualified, true, folded);
    else if (level == depth + 2)
        shown = qualified;
    else
        shown = gv_demangle(name ? name : "", qualified, sizeof(qualified));
    gv_kernel_name_copy(shown, strlen(shown), out, size);
    return level > depth + 2 ? GV_KERNEL_NAME_WHOLE : level;
}

void gv_function_name_short(const char *name, char *out, size_t size)
{
    char qualified[GV_KERNEL_NAME_LONG], folded[GV_KERNEL_NAME_LONG];
    const char *shown = name;

    if (gv_text_width(name) > GV_KERNEL_NAME_WIDE) {
        gv_kernel_name_qualified(name, qualified, sizeof(qualified));
        unsigned int level = gv_kernel_name_fold(qualified, GV_KERNEL_NAME_LONG, folded);
        while (level > 0 && gv_text_width(folded) > GV_KERNEL_NAME_WIDE)
            gv_kernel_name_fold(qualified, --level, folded);
        shown = folded;
    }
    gv_kernel_name_copy(shown, strlen(shown), out, size);
}

void gv_kernel_name_short(const char *name, char *out, size_t size)
{
    gv_kernel_name_at(name, gv_kernel_names_level(name), out, size);
}
