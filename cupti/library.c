#include "cupti/library.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OLDEST_VERSION 17 /* CUPTI 11.6: the first with a timestamp callback */
#define ORIGINS        64

struct gv_cupti_library gv_cupti;
static char open_error[GV_SPOOL_WHY_BYTES]; /* of the last library that could not be opened */

/* A folder to search, in the order of the search. */
struct origins {
    char path[ORIGINS][GV_SPOOL_PATH_BYTES];
    size_t count;
    char mapped[GV_SPOOL_PATH_BYTES]; /* a libcupti that is already mapped */
};

static const char *const sonames_13[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8",
                                         "libcupti.so.11.7", "libcupti.so.11.6"};
static const char *const sonames_12[] = {"libcupti.so.12", "libcupti.so.11.8", "libcupti.so.11.7",
                                         "libcupti.so.11.6", "libcupti.so.13"};
#define SONAMES (sizeof sonames_13 / sizeof sonames_13[0])

/* ---- the folders to search ---- */

static void add_origin(struct origins *origins, const char *folder, size_t bytes, const char *more)
{
    char *path = origins->path[origins->count];

    if (origins->count == ORIGINS ||
        (size_t)snprintf(path, GV_SPOOL_PATH_BYTES, "%.*s%s", (int)bytes, folder, more) >=
            GV_SPOOL_PATH_BYTES)
        return;
    for (size_t i = 0; i < origins->count; i++)
        if (strcmp(origins->path[i], path) == 0)
            return;
    origins->count++;
}

/* The layouts of the toolkit and of Python's nvidia packages, relative to the folder of
 * libcudart. */
static void add_beside(struct origins *origins, const char *folder, size_t bytes)
{
    add_origin(origins, folder, bytes, "");
    add_origin(origins, folder, bytes, "/../extras/CUPTI/lib64");
    add_origin(origins, folder, bytes, "/../../../extras/CUPTI/lib64");
    add_origin(origins, folder, bytes, "/../../cuda_cupti/lib");
}

static void add_home(struct origins *origins, const char *home)
{
    size_t bytes = home ? strlen(home) : 0;

    if (bytes == 0)
        return;
    add_origin(origins, home, bytes, "/lib64");
    add_origin(origins, home, bytes, "/extras/CUPTI/lib64");
    add_origin(origins, home, bytes, "/lib");
}

static int visit_mapped(struct dl_phdr_info *info, size_t bytes, void *context)
{
    struct origins *origins = context;
    const char *path = info->dlpi_name;
    const char *name = path ? strrchr(path, '/') : NULL;

    (void)bytes;
    if (!name)
        return 0;
    if (strncmp(name, "/libcupti.so", 12) == 0 && !origins->mapped[0])
        snprintf(origins->mapped, sizeof origins->mapped, "%s", path);
    else if (strncmp(name, "/libcudart", 10) == 0)
        add_beside(origins, path, (size_t)(name - path));
    return 0;
}

/* NVIDIA's packages of CUDA 13 and older, in a folder of Python packages. */
static void add_packages(struct origins *origins, const char *folder, size_t bytes)
{
    add_origin(origins, folder, bytes, "/nvidia/cu13/lib");
    add_origin(origins, folder, bytes, "/nvidia/cuda_cupti/lib");
}

/* Finds that folder by any library that Python loaded from it: numba, CuPy and JAX map no
 * libcudart of their own. Debian calls the folder dist-packages. */
static int visit_packages(struct dl_phdr_info *info, size_t bytes, void *context)
{
    static const char *const folders[] = {"/site-packages/", "/dist-packages/"};
    const char *path = info->dlpi_name ? info->dlpi_name : "";

    (void)bytes;
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        const char *packages = strstr(path, folders[i]);

        if (packages)
            add_packages(context, path, (size_t)(packages - path) + strlen(folders[i]) - 1);
    }
    return 0;
}

static void add_environment(struct origins *origins)
{
    const char *environment = getenv("VIRTUAL_ENV");
    static const char *const versions[] = {"3.9", "3.10", "3.11", "3.12", "3.13", "3.14"};

    add_home(origins, getenv("CUDA_HOME"));
    add_home(origins, getenv("CUDA_PATH"));
    for (size_t i = 0; environment && i < sizeof versions / sizeof versions[0]; i++) {
        char folder[GV_SPOOL_PATH_BYTES];
        size_t bytes = (size_t)snprintf(folder, sizeof folder, "%s/lib/python%s/site-packages",
                                        environment, versions[i]);

        if (bytes < sizeof folder)
            add_packages(origins, folder, bytes);
    }
    add_home(origins, getenv("CONDA_PREFIX"));
}

/* ---- opening ---- */

static bool look_up(struct gv_cupti_library *library, char *why, size_t why_bytes)
{
    const char *missing = NULL;

#define GV_CUPTI(name, type, parameters)                                                           \
    *(void **)&library->name = dlsym(library->handle, #name);                                      \
    if (!library->name)                                                                            \
        missing = #name;
#define GV_CUPTI_NEWER(name, type, parameters)                                                     \
    *(void **)&library->name = dlsym(library->handle, #name);
#include "cupti/functions.def"
    if (missing || library->cuptiGetVersion(&library->version) != CUPTI_SUCCESS ||
        library->version < OLDEST_VERSION) {
        snprintf(why, why_bytes, "%.150s is too old: CUPTI 11.6 or newer is needed", library->path);
        return false;
    }
    return true;
}

static bool open_at(const char *path, char *why, size_t why_bytes)
{
    struct link_map *map = NULL;

    gv_cupti.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!gv_cupti.handle) {
        const char *error = dlerror();

        snprintf(open_error, sizeof open_error, "%s", error ? error : "cannot be opened");
        return false;
    }
    if (dlinfo(gv_cupti.handle, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name[0])
        path = map->l_name;
    snprintf(gv_cupti.path, sizeof gv_cupti.path, "%s", path);
    if (look_up(&gv_cupti, why, why_bytes))
        return true;
    dlclose(gv_cupti.handle);
    gv_cupti.handle = NULL;
    return false;
}

static bool open_in(const char *folder, const char *const *sonames, char *why, size_t why_bytes)
{
    for (size_t i = 0; i < SONAMES; i++) {
        char path[GV_SPOOL_PATH_BYTES + 32];

        snprintf(path, sizeof path, "%s%s%s", folder, folder[0] ? "/" : "", sonames[i]);
        if (open_at(path, why, why_bytes))
            return true;
    }
    return false;
}

static int search(const char *const *sonames, char *why, size_t why_bytes)
{
    static struct origins origins;

    origins.count = 0;
    origins.mapped[0] = 0;
    dl_iterate_phdr(visit_mapped, &origins);
    add_environment(&origins);
    dl_iterate_phdr(visit_packages, &origins);
    add_origin(&origins, "", 0, ""); /* where the loader looks */
    add_home(&origins, "/usr/local/cuda");
    if (origins.mapped[0])
        return open_at(origins.mapped, why, why_bytes) ? 0 : -ENOSYS;
    for (size_t i = 0; i < origins.count; i++)
        if (open_in(origins.path[i], sonames, why, why_bytes))
            return 0;
    return -ENOENT;
}

/* dlopen() would wait for a pipe, and read beyond the end of a file that was cut. */
static bool is_library(const char *path)
{
    Elf64_Ehdr header;
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool is = false;

    snprintf(open_error, sizeof open_error, "%.150s: %s", path,
             fd < 0 ? strerror(errno) : "not a library");
    if (fd < 0)
        return false;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
        pread(fd, &header, sizeof header, 0) == (ssize_t)sizeof header &&
        memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_type == ET_DYN &&
        header.e_phentsize == sizeof(Elf64_Phdr)) {
        is = true;
        for (unsigned i = 0; i < header.e_phnum && is; i++) {
            Elf64_Phdr part;

            is = pread(fd, &part, sizeof part, (off_t)(header.e_phoff + i * sizeof part)) ==
                     (ssize_t)sizeof part &&
                 (part.p_type != PT_LOAD ||
                  (part.p_offset <= (uint64_t)status.st_size &&
                   part.p_filesz <= (uint64_t)status.st_size - part.p_offset));
        }
    }
    close(fd);
    return is;
}

int gv_cupti_library_open(const char *given, int driver_version, char *why, size_t why_bytes)
{
    int error;

    why[0] = 0;
    if (given[0])
        error = (!strchr(given, '/') || is_library(given)) && open_at(given, why, why_bytes)
                    ? 0
                    : -ENOENT;
    else
        error = search(driver_version >= 13000 ? sonames_13 : sonames_12, why, why_bytes);
    if (!error)
        why[0] = 0; /* of the unusable ones */
    if (error && !why[0] && given[0])
        snprintf(why, why_bytes, "GPUVERIFY_CUPTI: %.200s", open_error);
    else if (error && !why[0])
        snprintf(why, why_bytes,
                 "no libcupti found: install CUPTI (Python: nvidia-cuda-cupti), or set "
                 "GPUVERIFY_CUPTI to its path");
    return error;
}
