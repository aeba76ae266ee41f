/* Whether NVIDIA's driver library can be loaded here, without starting CUDA. */
#ifndef GV_COMMANDS_DOCTOR_DRIVER_FILE_H
#define GV_COMMANDS_DOCTOR_DRIVER_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* Tests it in a separate process, because a broken library may end the one that loads it. If it
 * cannot be loaded, `why` has the dynamic loader's message. If the test is impossible, it counts
 * as loadable. */
bool gv_driver_file_loads(char *why, size_t size);

#endif
