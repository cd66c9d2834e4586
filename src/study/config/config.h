/* config/config.h - what the user asked for: YAML file and key=value words, checked against one
 * table.
 *
 * Every key of keys.list always has a value: the user's, else one that the program set with
 * hu_config_set, else the table's default. Keys are named in full ("lr.base") or by their short
 * form ("lr").
 */
#ifndef HU_CONFIG_CONFIG_H
#define HU_CONFIG_CONFIG_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/keys.h"

/* What a key takes. TEXT: anything; CHOICE: one of its words; LIST: texts. */
typedef enum hu_config_type {
    HU_CONFIG_TEXT,
    HU_CONFIG_CHOICE,
    HU_CONFIG_INT,
    HU_CONFIG_REAL,
    HU_CONFIG_BOOL,
    HU_CONFIG_LIST
} hu_config_type;

/* One row of keys.list. */
typedef struct hu_config_key {
    const char *name;       /* "lr.base" */
    const char *short_form; /* "lr" or "" */
    hu_config_type type;
    double least, most; /* bounds of INT and REAL, inclusive */
    const char *preset; /* default as text; "auto": the recipe decides */
    const char *words;  /* CHOICE: the words, separated by spaces */
    const char *help;
} hu_config_key;

extern const hu_config_key hu_config_keys[];
extern const size_t hu_config_key_count;

/* Row of a key by its full name or short form, NULL if there is none. */
const hu_config_key *hu_config_key_find(const char *name);

/* The key that a word of other programs stands for ("batch_size": "batch"), NULL if none is known.
 */
const char *hu_config_key_alias(const char *name);

/* Whether a word is an option within the name of a number format ("bias"), and no key. */
bool hu_config_is_format_option(const char *name);

/* What other programs have a key for and this one has none, as device and amp: why, and what to
 * type instead; dashes as underscores. NULL: nothing is known of the word. */
const char *hu_config_key_elsewhere(const char *name);

/* HU_ERR_UNKNOWN: "<origin>: unknown key '...', nearest: ...". */
hu_status hu_config_key_unknown(const char *origin, const char *name);

/* Whether node holds what the key takes; else HU_ERR_PARSE. */
hu_status hu_config_key_check(const hu_config_key *key, const hu_keys *node);

/* Reads YAML text into a key tree. name stands in origins "name:line:column". Texts stay as
 * written, of whatever type YAML would call them. Duplicate keys, anchors, aliases, tags, several
 * documents, more than 16 levels or 10,000 values, and zero bytes are refused. Errors: HU_ERR_PARSE
 * with line and column; HU_ERR_CORRUPT (offset) if it is not text. Owner frees with hu_keys_free.
 */
hu_status hu_yaml_parse(const char *text, size_t bytes, const char *name, hu_keys **tree);

/* The same for a file of at most 1 MiB; HU_ERR_MISSING if there is none, HU_ERR_CORRUPT if it is
 * larger. */
hu_status hu_yaml_read(const char *path, hu_keys **tree);

/* The same for a text with so many values at most. */
hu_status hu_yaml_parse_most(const char *text, size_t bytes, size_t values, const char *name,
                             hu_keys **tree);

/* Whether a precision is the path of a plan file. */
bool hu_is_plan_path(const char *text);

/* Reads a plan file as the keys that it stands for. Two kinds: a map "precision" of the keys
 * precision.*, the name among them, and "evidence", which is for people; or a resolved plan
 * (config/load.h). HU_ERR_PARSE: another file. Owner frees. */
hu_status hu_plan_read(const char *path, hu_keys **plan);

/* What the words of a command line may hold beside keys. */
typedef struct hu_config_request {
    int argc; /* as main got them; words 0 and verb_index are skipped */
    char **argv;
    int verb_index;
    const char *const *flags; /* known flags, NULL at the end: "json"; "round=" may have a value */
    int max_subjects;
    /* The key that a word may be a value of, "model" of "cnn-s", for messages; NULL: unknown.
     * NULL itself: nobody knows. */
    const char *(*key_of)(const char *word);
} hu_config_request;

typedef struct hu_config hu_config;

/* Reads all words. Files of config=FILE come first, in order; words win over files, and a key
 * stands once among them.
 * A word without '=' is a subject; so is one whose part before the first '=' is no key, while no
 * subject has been seen. Errors name the nearest keys or flags. Owner frees. */
hu_status hu_config_load(const hu_config_request *request, hu_config **config);

/* NULL is allowed. */
void hu_config_free(hu_config *config);

/* Reads a resolved configuration again (resume): as if its keys had been given. */
hu_status hu_config_merge(hu_config *config, const hu_keys *tree);

/* The same for what a run was once given, which hu_config_asked tells from what is given now. */
hu_status hu_config_recall(hu_config *config, const hu_keys *tree);

/* Subjects in order; NULL beyond the last. Borrowed: valid as argv is. */
int hu_config_subjects(const hu_config *config);
const char *hu_config_subject(const hu_config *config, int index);

/* Whether a flag was given; *value (may be NULL) is its text after '=', NULL if it has none. */
bool hu_config_flag(const hu_config *config, const char *flag, const char **value);

/* Whether the user gave the key, on the command line or in a file. */
bool hu_config_given(const hu_config *config, const char *key);

/* Whether the user gave it now: not only a run that is read again (hu_config_recall). */
bool hu_config_asked(const hu_config *config, const char *key);

/* The word of the command line that gave the key, "lr=0.1"; NULL if none did. Borrowed: valid as
 * argv is. */
const char *hu_config_typed(const hu_config *config, const char *key);

/* Whether the value is still "auto". */
bool hu_config_is_auto(const hu_config *config, const char *key);

/* Sets a value that the user left open (not given, or given as "auto"); a value that the user gave
 * stays. origin says who decided: "recipe cnn-s". Checked like the user's. */
hu_status hu_config_set(hu_config *config, const char *key, const char *value, const char *origin);

/* The same for a value that the user gave by words that were worked out since. */
hu_status hu_config_replace(hu_config *config, const char *key, const char *value,
                            const char *origin);

/* Values; an unknown key is HU_ERR_INTERNAL, "auto" where a number is asked for is HU_ERR_PARSE.
 * Texts and nodes are borrowed: valid until the next set or the free. list gives a HU_KEYS_LIST. */
hu_status hu_config_text(const hu_config *config, const char *key, const char **value);
hu_status hu_config_i64(const hu_config *config, const char *key, int64_t *value);
hu_status hu_config_u64(const hu_config *config, const char *key, uint64_t *value);
hu_status hu_config_f64(const hu_config *config, const char *key, double *value);
hu_status hu_config_bool(const hu_config *config, const char *key, bool *value);
hu_status hu_config_list(const hu_config *config, const char *key, const hu_keys **list);

/* Whether a model is the path of a network file: it ends in .yaml or .yml. */
bool hu_is_network_path(const char *text);

/* Reads a network file as its text and its keys, which also after a failure the owner frees.
 * HU_ERR_MISSING, HU_ERR_CORRUPT, HU_ERR_PARSE, HU_ERR_LIMIT. */
hu_status hu_network_file_read(const char *path, char **text, hu_keys **file);

/* What a network file is called where a copy of it is kept: in the folder of a run, and of a sweep.
 */
#define HU_NETWORK_FILE "network.yaml"

/* Has the network file that model.name names read from a copy in a folder, where both are there.
 * Holds until model.name is set again. HU_ERR_MEMORY, HU_ERR_IO. */
hu_status hu_config_network_recall(hu_config *config, const char *directory);

/* What one configuration has read of its network file, for another one of the same model.name.
 * HU_ERR_MEMORY. */
hu_status hu_config_network_share(const hu_config *from, hu_config *to);

/* The network file that model.name names, NULL where it names a model; read once. Borrowed: valid
 * until model.name changes or the configuration is freed. HU_ERR_MISSING, HU_ERR_PARSE,
 * HU_ERR_LIMIT. */
hu_status hu_config_network(hu_config *config, const hu_keys **file);

/* The text of that file as it was read, NULL where there is none or it was not read. Borrowed as
 * above. */
const char *hu_config_network_text(const hu_config *config);

/* All keys with their values under their full names, as maps by namespace: what
 * config.resolved.yaml holds (hu_keys_print). Borrowed: valid until the config is freed. */
const hu_keys *hu_config_tree(const hu_config *config);

#endif
