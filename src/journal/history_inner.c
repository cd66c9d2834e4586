#include "journal/history_inner.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "show/json.h"

hu_status hu_place_fail(const hu_place *place, const char *format, ...) {
    char message[512];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return hu_fail(HU_ERR_CORRUPT, "%s/%s, line %zu: %s", place->folder, place->file, place->line,
                   message);
}

static const char *type_of(const json_t *value) {
    if (!value) return "nothing";
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "a list";
    case JSON_STRING:
        return "a text";
    case JSON_INTEGER:
        return "an integer";
    case JSON_REAL:
        return "a number";
    case JSON_NULL:
        return "null";
    default:
        return "true or false";
    }
}

/* Whole numbers that every reader of JSON takes (RFC 8259, section 6); sums of some hundred of them
 * do not overflow. */
static const int64_t most_whole = (int64_t)1 << 53;

hu_status hu_json_i64(const hu_place *place, const json_t *value, const char *what,
                      int64_t *number) {
    *number = 0;
    if (!json_is_integer(value))
        return hu_place_fail(place, "%s: found %s, expected an integer", what, type_of(value));
    *number = json_integer_value(value);
    if (*number < -most_whole || *number > most_whole)
        return hu_place_fail(place, "%s: found %lld, expected at most 2^53", what,
                             (long long)*number);
    return HU_OK;
}

hu_status hu_json_u64(const hu_place *place, const json_t *value, const char *what,
                      uint64_t *number) {
    int64_t whole;
    hu_status st = hu_json_i64(place, value, what, &whole);
    if (st != HU_OK) return st;
    if (whole < 0)
        return hu_place_fail(place, "%s: found %lld, expected at least 0", what, (long long)whole);
    *number = (uint64_t)whole;
    return HU_OK;
}

/* Infinities stand as texts, NaN as null; older folders have a text for it, too. */
hu_status hu_json_f64(const hu_place *place, const json_t *value, const char *what,
                      double *number) {
    const char *text = json_string_value(value);
    if (json_is_number(value))
        *number = json_number_value(value);
    else if (json_is_null(value) || (text && strcmp(text, "nan") == 0))
        *number = NAN;
    else if (text && strcmp(text, "inf") == 0)
        *number = HUGE_VAL;
    else if (text && strcmp(text, "-inf") == 0)
        *number = -HUGE_VAL;
    else
        return hu_place_fail(place, "%s: found %s, expected a number", what, type_of(value));
    return HU_OK;
}

hu_status hu_json_text(const hu_place *place, const json_t *value, const char *what,
                       const char **text) {
    *text = json_string_value(value);
    if (*text && hu_has_controls(*text))
        return hu_place_fail(place, "%s: found a control character in '%s', expected none", what,
                             *text);
    if (*text) return HU_OK;
    return hu_place_fail(place, "%s: found %s, expected a text", what, type_of(value));
}

hu_status hu_json_list(const hu_place *place, const json_t *value, const char *what,
                       size_t *count) {
    *count = 0;
    if (!json_is_array(value))
        return hu_place_fail(place, "%s: found %s, expected a list", what, type_of(value));
    *count = json_array_size(value);
    return HU_OK;
}

hu_status hu_json_read(hu_place *place, json_t **object) {
    hu_status st = HU_OK;
    char *path = NULL;
    uint8_t *data = NULL;
    size_t bytes = 0;
    bool is_there;
    json_error_t error;
    *object = NULL;
    HU_TRY(hu_path_join(place->folder, place->file, &path));
    HU_TRY(hu_file_find(path, &is_there));
    if (!is_there) goto done;
    HU_TRY(hu_file_read_plain(path, SIZE_MAX / 2, &data, &bytes));
    st = hu_json_parse((const char *)data, bytes, object, &error);
    place->line = *object || error.line < 1 ? 1 : (size_t)error.line;
    if (st == HU_ERR_CORRUPT) st = hu_place_fail(place, "column %d: %s", error.column, error.text);
done:
    hu_free(data);
    hu_free(path);
    return st;
}
