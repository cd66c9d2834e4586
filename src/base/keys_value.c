/* Typed values of key-tree nodes, with errors that say what was found where. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/decimal.h"
#include "base/error.h"
#include "base/keys.h"

hu_status hu_keys_as_text(const hu_keys *node, const char **value) {
    *value = "";
    if (hu_keys_kind_of(node) != HU_KEYS_TEXT) return hu_keys_fail(node, "a text");
    *value = hu_keys_value(node);
    return HU_OK;
}

/* True if the text of node starts like a number; strtol and its kin would skip leading spaces. */
static bool starts_number(const hu_keys *node, bool sign_allowed) {
    const char *text = hu_keys_value(node);
    if (hu_keys_kind_of(node) != HU_KEYS_TEXT || !*text) return false;
    if (sign_allowed && (*text == '-' || *text == '+')) text++;
    return isdigit((unsigned char)*text) || *text == '.';
}

hu_status hu_keys_as_i64(const hu_keys *node, int64_t *value) {
    const char *expected = "a decimal integer";
    *value = 0;
    if (!starts_number(node, true)) return hu_keys_fail(node, "%s", expected);
    char *end;
    /* strtoll reports a number that does not fit by errno alone, and never clears errno. */
    errno = 0;
    long long number = strtoll(hu_keys_value(node), &end, 10);
    if (*end || end == hu_keys_value(node)) return hu_keys_fail(node, "%s", expected);
    if (errno == ERANGE) return hu_keys_fail(node, "an integer of 64 bits");
    *value = number;
    return HU_OK;
}

hu_status hu_keys_as_u64(const hu_keys *node, uint64_t *value) {
    const char *expected = "a decimal integer, 0 or more";
    *value = 0;
    if (!starts_number(node, false)) return hu_keys_fail(node, "%s", expected);
    char *end;
    errno = 0;
    unsigned long long number = strtoull(hu_keys_value(node), &end, 10);
    if (*end || end == hu_keys_value(node)) return hu_keys_fail(node, "%s", expected);
    if (errno == ERANGE) return hu_keys_fail(node, "an unsigned integer of 64 bits");
    *value = number;
    return HU_OK;
}

hu_status hu_keys_as_f64(const hu_keys *node, double *value) {
    const char *expected = "a finite number";
    *value = 0;
    if (!starts_number(node, true)) return hu_keys_fail(node, "%s", expected);
    char *end;
    /* A number beyond double's range becomes infinite here, and is refused as not finite. */
    double number = strtod(hu_keys_value(node), &end);
    char point[HU_DECIMAL_BYTES];
    if (hu_decimal_has_comma(hu_keys_value(node), point))
        return hu_keys_fail(node, "%s, with a point: %s", expected, point);
    if (*end || end == hu_keys_value(node) || !isfinite(number))
        return hu_keys_fail(node, "%s", expected);
    *value = number;
    return HU_OK;
}

hu_status hu_keys_as_bool(const hu_keys *node, bool *value) {
    /* Pairs of opposite words: those at odd places mean on. */
    static const char *const words[] = {"off", "on", "false", "true", "no", "yes", "0", "1"};
    *value = false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (hu_keys_kind_of(node) != HU_KEYS_TEXT) break;
        if (strcasecmp(hu_keys_value(node), words[i]) != 0) continue;
        *value = i % 2 == 1;
        return HU_OK;
    }
    return hu_keys_fail(node, "on or off");
}
