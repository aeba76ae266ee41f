#include "report/probe/probe.h"

#include "report/show/output_file.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int gv_probe_store_folder(char *out, size_t size)
{
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    int length;

    /* The XDG standard says to ignore a relative path. */
    if (data && data[0] == '/')
        length = snprintf(out, size, "%s/gpuverify", data);
    else if (home && home[0] == '/')
        length = snprintf(out, size, "%s/.local/share/gpuverify", home);
    else
        return -ENOENT;
    return length < 0 || (size_t)length >= size ? -ENAMETOOLONG : 0;
}

/* mkdir -p */
static int probe_store_make(char *folder)
{
    for (char *at = strchr(folder + 1, '/');; at = strchr(at + 1, '/')) {
        int made;
        if (at)
            *at = '\0';
        made = mkdir(folder, 0777);
        if (made && errno != EEXIST)
            return -errno;
        if (!at)
            return 0;
        *at = '/';
    }
}

/* Keeps letters, digits and dots; replaces others by a minus. */
static void probe_store_plain(const char *text, char *out, size_t size)
{
    size_t used = 0;

    for (; *text && used + 1 < size; text++)
        out[used++] = isalnum((unsigned char)*text) || *text == '.' ? *text : '-';
    out[used] = '\0';
}

int gv_probe_store_path(const struct gv_probe_machine *machine, char *out, size_t size)
{
    char folder[PATH_MAX], driver[GV_PROBE_TEXT_BYTES], gpu[GV_PROBE_TEXT_BYTES];
    int error = gv_probe_store_folder(folder, sizeof(folder)), length;

    if (!error)
        error = probe_store_make(folder);
    if (error)
        return error;
    if (machine->driver[0])
        probe_store_plain(machine->driver, driver, sizeof(driver));
    else
        snprintf(driver, sizeof(driver), "cuda-%d", machine->cuda_version);
    probe_store_plain(machine->gpu, gpu, sizeof(gpu));
    length = snprintf(out, size, "%s/probe-%s-%s.json", folder, driver, gpu);
    return length < 0 || (size_t)length >= size ? -ENAMETOOLONG : 0;
}

int gv_probe_store_write(const struct gv_probe_result *result, const char *path)
{
    struct gv_output_file file;
    int error = gv_output_file_open(&file, path, 0666);

    if (error)
        return error;
    int printed = gv_probe_print_json(result, file.out);
    error = gv_output_file_close(&file);
    return error ? error : printed;
}
