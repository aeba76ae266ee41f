#include "report/kernel_name.h"

#include "report/demangle.h"

#include <stdbool.h>
#include <string.h>

#define GV_KERNEL_NAME_LONG 8192

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

/* What a name can do without: parameters, lambdas and the operators that they are called by, ABI
 * tags. Its length; 0: the name goes on. */
static size_t gv_kernel_name_clutter(const char *text)
{
    static const char call[] = "operator()", constant[] = " const";

    if (gv_kernel_name_begins(text, call))
        return sizeof(call) - 1;
    if (gv_kernel_name_begins(text, "[abi:"))
        return gv_kernel_name_group(text, '[', ']');
    if (*text == '(' || *text == '{')
        return gv_kernel_name_group(text, *text, *text == '(' ? ')' : '}');
    if (gv_kernel_name_begins(text, constant) && strchr(":,>", text[sizeof(constant) - 1]))
        return sizeof(constant) - 1;
    return 0;
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

void gv_kernel_name_short(const char *name, char *out, size_t size)
{
    char qualified[GV_KERNEL_NAME_LONG], short_name[GV_KERNEL_NAME_LONG];
    size_t used = 0, length;

    gv_kernel_name_qualified(name, qualified, sizeof(qualified));
    for (const char *at = qualified; *at;) {
        if (at != qualified && (length = gv_kernel_name_clutter(at)) > 0) {
            at += length;
        } else if (gv_kernel_name_begins(at, "::") && at[2]) {
            at += 2;
            if (!gv_kernel_name_clutter(at) || gv_kernel_name_begins(at, "(anonymous namespace)"))
                used = gv_kernel_name_unqualified(short_name, used);
        } else {
            short_name[used++] = *at++;
        }
    }
    gv_kernel_name_copy(short_name, used, out, size);
}
