/* Whether NVIDIA's driver library can be loaded here, without starting CUDA. */
#ifndef GV_COMMANDS_DOCTOR_DRIVER_FILE_H
#define GV_COMMANDS_DOCTOR_DRIVER_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* Tried in a process of its own, since a broken library may end the one that loads it. If it cannot
 * be loaded, `why` says so in the dynamic loader's words. What could not be tried counts as there.
 */
bool gv_driver_file_loads(char *why, size_t size);

#endif
