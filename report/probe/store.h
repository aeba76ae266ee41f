/* Where the probe's results are stored, and how to find them. */
#ifndef GV_PROBE_STORE_H
#define GV_PROBE_STORE_H

#include "report/probe/probe.h"

#include <stddef.h>

/* $XDG_DATA_HOME/gpuverify, or ~/.local/share/gpuverify. -ENOENT: neither is known. */
int gv_probe_store_folder(char *out, size_t size);

/* The file for a machine's result in that folder. Makes the folder. */
int gv_probe_store_path(const struct gv_probe_machine *machine, char *out, size_t size);

/* Writes the whole file, or leaves the old one. */
int gv_probe_store_write(const struct gv_probe_result *result, const char *path);

#endif
