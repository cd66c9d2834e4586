/* base/registry.h - a named choice out of a const table: one row drives parsing, help and errors.
 */
#ifndef HU_BASE_REGISTRY_H
#define HU_BASE_REGISTRY_H
#include <stddef.h>

#include <halfulp/status.h>

/* One row; its index in the table is the value of the kind's enum. */
typedef struct hu_kind {
    const char *name;
    const char *summary; /* one line for the help text */
} hu_kind;

/* The index of name in kinds[count]. HU_ERR_UNKNOWN names the nearest three; what ("optimizer")
 * stands in front of the message. */
hu_status hu_registry_parse(const char *what, const hu_kind *kinds, size_t count, const char *name,
                            size_t *index);

/* HU_ERR_ARGUMENT with "key: found value, expected text" unless low <= value < high (a NaN is
 * outside). The bounds are the rule, expected says it in words. */
hu_status hu_require_range(const char *key, double value, double low, double high,
                           const char *expected);

#endif
