#include "cli/predict_text.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text_file.h"
#include "cli/progress.h"
#include "session/evaluation.h"
#include "show/table.h"

/* Owner frees *text with hu_free, also on failure. */
static hu_status read_stdin(char **text, size_t *bytes) {
    size_t capacity = 0, got;
    hu_status st = HU_OK;
    do {
        HU_TRY(hu_grow(text, *bytes + 1, &capacity, 1));
        got = fread(*text + *bytes, 1, capacity - *bytes - 1, stdin);
        *bytes += got;
    } while (got > 0);
    (*text)[*bytes] = '\0';
    if (ferror(stdin)) st = hu_fail(HU_ERR_IO, "standard input cannot be read");
done:
    return st;
}

/* "-": standard input; "@FILE": a file; else the text itself. where [bytes of a path]: of it. */
static hu_status read_text(const char *given, char where[4096], char **text, size_t *bytes) {
    bool is_file = given[0] == '@', is_input = strcmp(given, "-") == 0;
    uint8_t *data = NULL;
    hu_status st;
    snprintf(where, 4096, "%s", is_file ? given + 1 : is_input ? "standard input" : "predict.text");
    if (is_input) return read_stdin(text, bytes);
    *bytes = strlen(given);
    if (is_file) HU_TRY(hu_file_read(given + 1, SIZE_MAX / 4, &data, bytes));
    size_t mark = is_file ? hu_text_mark_bytes((const char *)data, *bytes) : 0;
    *bytes -= mark;
    st = hu_strndup(is_file ? (const char *)data + mark : given, *bytes, text);
done:
    hu_free(data);
    return st;
}

hu_status hu_predict_text(hu_config *config) {
    hu_status st;
    char where[4096], *text = NULL, *told = NULL;
    const char *given, *directory = hu_config_subject(config, 0);
    size_t bytes = 0;
    hu_prompted made = {0};
    HU_TRY(hu_config_text(config, "predict.text", &given));
    HU_TRY(read_text(given, where, &text, &bytes));
    HU_TRY(hu_prompted_make(config, directory, &hu_progress_messages, where, text, bytes, &made));
    if (hu_config_flag(config, "json", NULL)) {
        st = hu_json_print(hu_prompted_json(&made));
    } else {
        HU_TRY(hu_prompted_text(&made, &told));
        puts(told);
    }
done:
    hu_prompted_free(&made);
    hu_free(text);
    hu_free(told);
    return st;
}
