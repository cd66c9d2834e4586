/* base/error.h - reporting failures: the message beside the status, and the one control-flow macro.
 */
#ifndef HU_BASE_ERROR_H
#define HU_BASE_ERROR_H
#include <halfulp/status.h>
#include <stdbool.h>

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

/* What a caller of a public function must give: a binding may pass anything by mistake. */

/* Ends the public function with HU_ERR_ARGUMENT "FUNCTION: ARGUMENT is NULL" where the pointer is.
 */
#define HU_GIVEN(pointer) HU_GIVEN_IF(pointer, true)

/* The same of an array that is read only where it has elements. */
#define HU_GIVEN_IF(pointer, is_needed)                                                            \
    do {                                                                                           \
        if (!(pointer) && (is_needed))                                                             \
            return hu_fail(HU_ERR_ARGUMENT, "%s: %s is NULL", __func__, #pointer);                 \
    } while (0)

/* Ends it where a signed number is negative, or an unsigned one too large. */
#define HU_GIVEN_COUNT(number)                                                                     \
    do {                                                                                           \
        if ((number) < 0)                                                                          \
            return hu_fail(HU_ERR_ARGUMENT, "%s: %s is %lld, expected 0 or more", __func__,        \
                           #number, (long long)(number));                                          \
    } while (0)
#define HU_GIVEN_MOST(number, most)                                                                \
    do {                                                                                           \
        if ((number) > (most))                                                                     \
            return hu_fail(HU_ERR_ARGUMENT, "%s: %s is %zu, expected at most %zu", __func__,       \
                           #number, (size_t)(number), (size_t)(most));                             \
    } while (0)

#endif
