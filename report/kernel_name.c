#include "report/kernel_name.h"

#include "report/demangle.h"

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
    char room[8192];
    const char *plain = gv_demangle(name ? name : "", room, sizeof(room));

    if (strncmp(plain, returned, sizeof(returned) - 1) == 0)
        plain += sizeof(returned) - 1;
    gv_kernel_name_copy(plain, gv_kernel_name_parameters(plain, strlen(plain)), out, size);
}

void gv_kernel_name_short(const char *name, char *out, size_t size)
{
    char qualified[8192], *last = qualified;
    size_t end;

    gv_kernel_name_qualified(name, qualified, sizeof(qualified));
    end = strcspn(qualified, "<");
    for (char *at = qualified; at + 1 < qualified + end; at++)
        if (at[0] == ':' && at[1] == ':' && at[2])
            last = at + 2;
    gv_kernel_name_copy(last, strlen(last), out, size);
}
