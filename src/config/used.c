/* config/used.c - which keys a verb reads, and which do not change a training. */
#include "config/used.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"

/* Whether the verb reads the key. */
static bool is_among(const char *key, const char *const *used) {
    for (; *used; used++) {
        size_t length = strcspn(*used, "*");
        /* "gemm.*": all keys that begin so. */
        bool is_space = (*used)[length] == '*';
        if (is_space ? strncmp(key, *used, length) == 0 : strcmp(key, *used) == 0) return true;
    }
    return false;
}

hu_status hu_keys_used(const hu_config *config, const char *reader, const char *const *used) {
    for (size_t i = 0; i < hu_config_key_count; i++) {
        const char *key = hu_config_keys[i].name;
        if (!hu_config_given(config, key) || is_among(key, used)) continue;
        char list[512] = "";
        for (size_t n = 0; *used; used++, n = strlen(list))
            snprintf(list + n, sizeof list - n, " %s", *used);
        return hu_fail(HU_ERR_ARGUMENT,
                       "found key '%s', which %s does not read, expected one of:%s", key, reader,
                       list);
    }
    return HU_OK;
}

bool hu_config_key_is_free(const char *key) {
    static const char *const names[] = {
        "run.dir",     "run.name",      "run.keep_best",        "eval.checkpoint", "run.threads",
        "run.quiet",   "run.keep",      "run.checkpoint_every", "run.repeat",      "run.norms",
        "comm.bucket", "comm.timeout",  "comm.overlap",         "comm.transport",  "comm.rho",
        "comm.sigma",  "comm.magnitude"};
    static const char *const spaces[] = {"compare.", "assign.", "report.",  "out.",
                                         "bench.",   "gemm.",   "cluster.", "predict."};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(key, names[i]) == 0) return true;
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
        if (strncmp(key, spaces[i], strlen(spaces[i])) == 0) return true;
    return false;
}
