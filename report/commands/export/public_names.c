#include "report/commands/export/export.h"

#include "trace/text.h"

#include <stddef.h>
#include <string.h>

/* A longer path may hold anything. */
#define PUBLIC_PATH_BYTES 256
#define PUBLIC_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+-./"

enum public_kind {
    PUBLIC_LIBRARY,
    PUBLIC_PACKAGE,
    PUBLIC_MODULE,
    PUBLIC_FUNCTION,
};

static const struct {
    enum public_kind kind;
    const char *name;
} public_names[] = {
#define GV_PUBLIC_LIBRARY(name)  {PUBLIC_LIBRARY, name},
#define GV_PUBLIC_PACKAGE(name)  {PUBLIC_PACKAGE, name},
#define GV_PUBLIC_MODULE(name)   {PUBLIC_MODULE, name},
#define GV_PUBLIC_FUNCTION(name) {PUBLIC_FUNCTION, name},
#include "report/commands/export/public_names.def"
};
#define PUBLIC_NAMES (sizeof(public_names) / sizeof(public_names[0]))

static bool public_is(enum public_kind kind, const char *name, size_t length)
{
    for (size_t i = 0; i < PUBLIC_NAMES; i++)
        if (public_names[i].kind == kind && strlen(public_names[i].name) == length &&
            memcmp(public_names[i].name, name, length) == 0)
            return true;
    return false;
}

/* The last occurrence: "/site-packages/" of an environment in a package's folder. */
static const char *public_find(const char *path, const char *folder)
{
    const char *found = NULL;

    for (const char *at = strstr(path, folder); at; at = strstr(at + 1, folder))
        found = at;
    return found;
}

/* From "/site-packages/" or "/dist-packages/"; NULL: neither. */
static const char *public_packages(const char *path)
{
    const char *site = public_find(path, "/site-packages/");
    const char *dist = public_find(path, "/dist-packages/");

    return site ? site : dist;
}

/* From "/lib/python3.12/"; *inside: after it. */
static const char *public_python(const char *path, const char **inside)
{
    const char *python = public_find(path, "/lib/python3.");
    const char *number = python ? python + strlen("/lib/python3.") : NULL;

    *inside = number ? number + strspn(number, "0123456789") : NULL;
    return number && *inside > number && *(*inside)++ == '/' ? python : NULL;
}

static bool public_is_plain(const char *path)
{
    return strlen(path) < PUBLIC_PATH_BYTES && !path[strspn(path, PUBLIC_CHARACTERS)] &&
           !strstr(path, "/../");
}

/* A file of a public package. */
static const char *public_packaged(const char *path)
{
    const char *packages = public_packages(path);
    const char *name = packages ? packages + strlen("/site-packages/") : NULL;

    return name && public_is_plain(packages) && public_is(PUBLIC_PACKAGE, name, strcspn(name, "/"))
               ? packages
               : NULL;
}

/* Whether a version, and what a library's file has otherwise, is all that follows its name. */
static bool public_is_version(const char *rest)
{
    size_t version = strspn(rest, "-.0123456789");

    if (strncmp(rest + version, "so", 2) == 0)
        version += 2 + strspn(rest + version + 2, ".0123456789");
    return !rest[version];
}

const char *gv_public_library(const char *path)
{
    const char *packaged = path ? public_packaged(path) : NULL, *name = gv_text_base(path);

    if (!path || packaged)
        return packaged;
    for (size_t i = 0; i < PUBLIC_NAMES; i++) {
        size_t length = strlen(public_names[i].name);
        if (public_names[i].kind == PUBLIC_LIBRARY && strlen(name) < PUBLIC_PATH_BYTES &&
            strncmp(name, public_names[i].name, length) == 0 && public_is_version(name + length))
            return name > path ? name - 1 : name; /* readers of stacks look for "/libc.so.6" */
    }
    return NULL;
}

const char *gv_public_file(const char *path)
{
    const char *packaged = path ? public_packaged(path) : NULL, *inside, *python;
    static const char frozen[] = "<frozen ";

    if (!path || packaged || public_packages(path))
        return packaged;
    python = public_python(path, &inside);
    if (python && public_is_plain(python) &&
        public_is(PUBLIC_MODULE, inside, strcspn(inside, "/.")))
        return python;
    inside = path + strlen(frozen);
    if (strncmp(path, frozen, strlen(frozen)) == 0 &&
        public_is(PUBLIC_MODULE, inside, strcspn(inside, ".>")) &&
        strspn(inside, "abcdefghijklmnopqrstuvwxyz_.") + 1 == strlen(inside))
        return path;
    return NULL;
}

const char *gv_public_folder(const char *path)
{
    const char *inside;

    if (public_packages(path))
        return "/site-packages/";
    return public_python(path, &inside)        ? "/lib/python3.0/"
           : strncmp(path, "<frozen ", 8) == 0 ? "<frozen "
                                               : "";
}

bool gv_public_function(const char *name)
{
    return public_is(PUBLIC_FUNCTION, name, strlen(name));
}
