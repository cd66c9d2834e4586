/* session/warnings.c - products that run in slow reference implementations, and keys in vain. */
#include "session/warnings.h"

#include "config/idle.h"
#include "layout/ledger.h"

void hu_warnings_tell(const hu_run *run, const hu_listener *listener) {
    char text[HU_SLOW_BYTES];
    for (uint32_t n = 0; n < hu_run_graph(run)->node_count; n++)
        if (hu_run_is_slow(run, n, text)) hu_listener_tell(listener, "warning: %s", text);
}

json_t *hu_warnings_json(const hu_run *run) {
    char text[HU_SLOW_BYTES];
    json_t *list = json_array();
    for (uint32_t n = 0; list && n < hu_run_graph(run)->node_count; n++)
        if (hu_run_is_slow(run, n, text)) json_array_append_new(list, json_string(text));
    return list;
}

void hu_idle_tell(const hu_config *config, const hu_listener *listener) {
    char text[HU_IDLE_BYTES];
    for (size_t i = 0; hu_idle_key(config, i, text); i++)
        hu_listener_tell(listener, "warning: %s", text);
}

void hu_idle_tell_typed(const hu_config *config, const char *reason, const hu_listener *listener) {
    char text[HU_IDLE_BYTES];
    for (size_t i = 0; hu_idle_typed(config, i, reason, text); i++)
        hu_listener_tell(listener, "warning: %s", text);
}
