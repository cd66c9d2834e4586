#include "cli/json.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

json_t *hu_json_number(double value) {
    if (isnan(value)) return json_string("nan");
    if (isinf(value)) return json_string(value > 0 ? "inf" : "-inf");
    return json_real(value);
}

json_t *hu_json_hash(uint64_t hash) {
    return json_sprintf("%016" PRIx64, hash);
}

hu_status hu_json_print(json_t *object) {
    if (!object) return hu_fail(HU_ERR_MEMORY, "out of memory while making JSON");
    int failed = json_dumpf(object, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    json_decref(object);
    if (failed) return hu_fail(HU_ERR_IO, "cannot write JSON: %s", strerror(errno));
    putchar('\n');
    return HU_OK;
}

hu_status hu_json_line(json_t *object, char **line) {
    *line = NULL;
    char *text = object ? json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
    json_decref(object);
    if (!text) return hu_fail(HU_ERR_MEMORY, "out of memory while making JSON");
    hu_status st = hu_strdup(text, line);
    free(text);
    return st;
}
