/* show/json.c - numbers and texts of JSON. 17 significant digits give every double back. */
#include "show/json.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/memory.h"
#include "show/json_parse.h"

json_t *hu_json_number(double value) {
    if (isnan(value)) return json_null();
    if (isinf(value)) return json_string(value > 0 ? "inf" : "-inf");
    return json_real(value);
}

json_t *hu_json_hash(uint64_t hash) {
    return json_sprintf("%016" PRIx64, hash);
}

double hu_json_real(const json_t *object, const char *path) {
    char name[64];
    while (object && *path) {
        size_t length = strcspn(path, ".");
        snprintf(name, sizeof name, "%.*s", (int)length, path);
        object = json_object_get(object, name);
        path += length + (path[length] == '.');
    }
    return json_is_number(object) ? json_number_value(object) : (double)NAN;
}

static int append(const char *piece, size_t bytes, void *writer) {
    return hu_write_bytes(writer, piece, bytes) == HU_OK ? 0 : -1;
}

/* Jansson's text into a block of ours; drops the reference to the object. */
static hu_status dump(json_t *object, size_t layout, const char *end, char **text) {
    hu_byte_writer out = {0};
    hu_status st = HU_OK;
    bool failed = !object || hu_json_ran_out() ||
                  json_dump_callback(object, append, &out, layout | JSON_REAL_PRECISION(17)) != 0;
    *text = NULL;
    json_decref(object);
    if (failed) HU_TRY(hu_fail(HU_ERR_MEMORY, "out of memory while making JSON"));
    HU_TRY(hu_write_bytes(&out, end, strlen(end) + 1));
    *text = (char *)out.data;
    out = (hu_byte_writer){0};
done:
    hu_writer_free(&out);
    return st;
}

hu_status hu_json_line(json_t *object, char **line) {
    return dump(object, JSON_COMPACT, "", line);
}

hu_status hu_json_pretty(json_t *object, char **text) {
    return dump(object, JSON_INDENT(2), "\n", text);
}
