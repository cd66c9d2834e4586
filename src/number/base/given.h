/* base/given.h - what a caller of a public function must give: a binding may pass anything by
 * mistake. */
#ifndef HU_BASE_GIVEN_H
#define HU_BASE_GIVEN_H
#include <stdbool.h>

#include "base/error.h"

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
