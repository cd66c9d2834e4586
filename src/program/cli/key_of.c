#include "cli/key_of.h"

#include <halfulp/data.h>
#include <stdbool.h>
#include <string.h>

#include "model/model.h"
#include "precision/precision.h"

/* "glyphs", "folder:DIR" */
static bool is_data(const char *word) {
    size_t length = strcspn(word, ":");
    for (size_t i = 0; hu_data_kind_name(i); i++) {
        const char *name = hu_data_kind_name(i);
        if (strcspn(name, ":") == length && memcmp(name, word, length) == 0) return true;
    }
    return false;
}

const char *hu_key_of_word(const char *word) {
    hu_precision precision;
    for (int i = 0; i < hu_model_count; i++)
        if (strcmp(hu_model_table[i].name, word) == 0) return "model";
    if (is_data(word)) return "data";
    if (hu_precision_parse(word, &precision) != HU_OK) return NULL;
    hu_precision_free(&precision);
    return "precision";
}
