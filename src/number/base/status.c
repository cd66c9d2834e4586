#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <halfulp/api.h>

#include "base/error.h"
#include "base/text.h"

/* ---- status ---- */

/* A longer message is cut short, never refused: an error must not fail. */
enum { MESSAGE_BYTES = 4096 };

/* Each thread has its own last error, so that parallel failures do not mix their texts. */
static _Thread_local char message[MESSAGE_BYTES];

/* Text and exit code of each status, in the one list of halfulp/status.h. */
static const struct {
    const char *text;
    int exit_code;
} status_table[] = {
#define HU_STATUS_ROW(name, text, code) [HU_##name] = {text, code},
    HU_STATUS_LIST(HU_STATUS_ROW)
#undef HU_STATUS_ROW
};

static bool is_known(hu_status status) {
    return (size_t)status < sizeof status_table / sizeof status_table[0];
}

const char *hu_status_text(hu_status status) {
    return is_known(status) ? status_table[status].text : "unknown status";
}

int hu_status_exit_code(hu_status status) {
    return is_known(status) ? status_table[status].exit_code : 1;
}

const char *hu_last_error(void) {
    return message;
}

hu_status hu_fail(hu_status status, const char *format, ...) {
    /* The arguments may point into the message itself, so the new text is made beside the old. */
    char text[MESSAGE_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    hu_escape(text, message, sizeof message);
    return status;
}

hu_status hu_fail_within(hu_status status, const char *format, ...) {
    char text[MESSAGE_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    size_t used = strlen(text);
    snprintf(text + used, sizeof text - used, "%s", message);
    hu_escape(text, message, sizeof message);
    return status;
}

/* ---- version ---- */

const char *hu_version(void) {
    return HALFULP_VERSION;
}
