/* base/module.h - parts of halfulp that are loaded when they are asked for, as they need libraries
 * that not every machine has. */
#ifndef HU_BASE_MODULE_H
#define HU_BASE_MODULE_H
#include <stdbool.h>

#include <halfulp/status.h>

/* A function of halfulp-NAME.so, which lies beside the program or library, in its folder of
 * modules, or in that of a library: *function, a pointer to a function. It is never closed.
 * HU_ERR_UNSUPPORTED that begins with `what` and says what was looked for, and what a build must
 * have found. */
hu_status hu_module_load(const char *name, const char *symbol, const char *what,
                         const char *expected, void *function);

#endif
