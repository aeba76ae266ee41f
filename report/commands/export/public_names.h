/*
 * Which names of a stack everybody knows: those of CUDA's libraries, of Python, and of well-known
 * packages. They say nothing of the program, so an anonymised trace keeps them. The lists are in
 * report/commands/export/public_names.def.
 */
#ifndef GV_COMMANDS_EXPORT_PUBLIC_NAMES_H
#define GV_COMMANDS_EXPORT_PUBLIC_NAMES_H

#include <stdbool.h>

/* The part of a library's path that everybody knows, without the folders before it: "/libc.so.6",
 * "/site-packages/torch/lib/libtorch.so". Points into `path`; NULL: it is not public, or NULL. */
const char *gv_public_library(const char *path);
/* The same of a source file of Python: "/site-packages/torch/nn/modules/module.py",
 * "<frozen importlib._bootstrap>". */
const char *gv_public_file(const char *path);
/* What a path of no public file keeps, so that readers still know it as an installed package's or
 * Python's own: "/site-packages/"; "": nothing. */
const char *gv_public_folder(const char *path);
/* Names that any program has, such as main. */
bool gv_public_function(const char *name);

#endif
