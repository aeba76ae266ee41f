#include "report/collect/session_place.h"

#include "trace/session_id.h"
#include "trace/settings.h"
#include "trace/trace_path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

void gv_session_place_default(char *out, size_t size)
{
    struct gv_settings settings;
    char here[GV_SESSION_PATH_BYTES];

    gv_settings_read(&settings, NULL, NULL);
    if (gv_trace_path_shared(out, size, &settings, getcwd(here, sizeof(here))) < 0)
        out[0] = '\0'; /* no session is found there */
}

bool gv_session_place_id(const char *name, char id[GV_SESSION_ID_BYTES])
{
    size_t length = strcspn(name, ".");
    uint32_t pid;
    uint64_t ticks;

    if (length >= GV_SESSION_ID_BYTES || name[length] != '.')
        return false;
    memcpy(id, name, length);
    id[length] = '\0';
    return gv_session_id_parse(id, &pid, &ticks) == 0;
}

int gv_session_place_map(int fd, struct gv_session_file **file)
{
    struct stat status;

    if (fstat(fd, &status) < 0)
        return -errno;
    if (!S_ISREG(status.st_mode) || status.st_uid != geteuid() ||
        status.st_size < (off_t)sizeof(struct gv_session_file))
        return -EPROTO;
    void *base =
        mmap(NULL, sizeof(struct gv_session_file), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED)
        return -errno;
    *file = base;
    if (atomic_load_explicit(&(*file)->ready, memory_order_acquire) == 0 ||
        memcmp((*file)->magic, GV_SESSION_MAGIC, sizeof((*file)->magic)) != 0) {
        munmap(base, sizeof(struct gv_session_file));
        *file = NULL;
        return -EPROTO;
    }
    return 0;
}

void gv_session_place_unmap(struct gv_session_file *file)
{
    if (file)
        munmap(file, sizeof(*file));
}

int gv_session_place_open(const char *directory, const char *session)
{
    char path[GV_SESSION_PATH_BYTES];
    int length = snprintf(path, sizeof(path), "%s/%s%s", directory, session, GV_SESSION_SUFFIX);

    if (length < 0 || (size_t)length >= sizeof(path))
        return -ENAMETOOLONG;
    int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    return fd < 0 ? -errno : fd;
}
