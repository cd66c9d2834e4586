/* config/load.h - a configuration read: YAML file and words of the command line. */
#ifndef HU_CONFIG_LOAD_H
#define HU_CONFIG_LOAD_H
#include "base/keys.h"
#include "config/config.h"

enum { HU_CONFIG_MAX_SUBJECTS = 1024, HU_CONFIG_MAX_FLAGS = 16, HU_CONFIG_NAME_BYTES = 300 };

struct hu_config {
    hu_keys *tree;
    bool *given;        /* [hu_config_key_count] */
    bool *recalled;     /* [the same] given by a run that is read again, and not since */
    const char **typed; /* [the same] the word of the command line, NULL: none. Borrowed */
    bool recalls;       /* such a run is being read */
    const char *subject[HU_CONFIG_MAX_SUBJECTS];
    int subjects;
    const char *flag[HU_CONFIG_MAX_FLAGS]; /* words after "--" */
    int flags;
    hu_keys *network;   /* the file that model.name names as it was read, NULL: not yet, */
    char *network_text; /* its text, */
    char *network_copy; /* and the copy that is read in its place, NULL: none */
};

/* Place of a key in the arrays above. */
size_t hu_config_row(const hu_config_key *key);

/* Puts a text that came from no file at the key's place, checked; origin stands in errors. */
hu_status hu_config_store(hu_config *config, const hu_config_key *key, const char *text,
                          const char *origin);

/* What was read of a network file, and which copy stands for it: of another model.name. */
void hu_config_network_forget(hu_config *config);

/* Files first, then plan files, then words in their order: words win over files. HU_ERR_ARGUMENT:
 * a key given twice, or steps beside epochs. */
hu_status hu_config_read_words(hu_config *config, const hu_config_request *request);

/* ---- Plan files ---- */

/* Whether a file is a resolved plan: its key "halfulp_plan" says so. */
bool hu_plan_is_resolved(const hu_keys *file);

/* The keys that a resolved plan stands for: precision=resolved with its tensors, accumulator.rules,
 * scaler.* and so on. HU_ERR_VERSION for a later kind, HU_ERR_PARSE with place and expected keys.
 * Owner frees. */
hu_status hu_plan_resolved_keys(const hu_keys *file, hu_keys **keys);

#endif
