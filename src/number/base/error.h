/* base/error.h - reporting failures: the message beside the status, and the one control-flow macro.
 */
#ifndef HU_BASE_ERROR_H
#define HU_BASE_ERROR_H
#include <halfulp/status.h>

/* Stores the message of this thread (printf form; 4,095 bytes kept) and returns status. */
hu_status hu_fail(hu_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Puts "prefix" (printf form) in front of the stored message and returns status: adds where to
 * what. */
hu_status hu_fail_within(hu_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Runs a fallible expression; on failure keeps its status in `st` and leaves by the label `done`.
 */
#define HU_TRY(expression)                                                                         \
    do {                                                                                           \
        if ((st = (expression)) != HU_OK) goto done;                                               \
    } while (0)

#endif
