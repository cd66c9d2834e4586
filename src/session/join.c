#include "session/join.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"

hu_status hu_options_join(const hu_config *config, const char *key, char *text, size_t capacity) {
    const hu_keys *list;
    size_t used = 0;
    hu_status st = hu_config_list(config, key, &list);
    text[0] = '\0';
    for (size_t i = 0; st == HU_OK && i < hu_keys_count(list); i++) {
        const char *item = hu_keys_value(hu_keys_at(list, i));
        if (strcmp(item, "auto") == 0) continue;
        int written = snprintf(text + used, capacity - used, "%s%s", used ? "," : "", item);
        if (written < 0 || (size_t)written >= capacity - used)
            return hu_fail(HU_ERR_LIMIT, "%s: the list is longer than %zu characters", key,
                           capacity);
        used += (size_t)written;
    }
    return st;
}
