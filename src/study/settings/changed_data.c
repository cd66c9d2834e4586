#include "settings/changed_data.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "config/config.h"
#include "runlog/run_list.h"

/* A line for each file of both halves. */
enum { FILE_LIMIT = 1 << 28 };

/* Whether a key has another value than the run had. A folder of an older version has no word about
 * some. */
static bool is_other(const hu_keys *saved, const hu_config *config, const char *key) {
    const hu_keys *own = hu_keys_find(saved, key), *now = hu_keys_find(hu_config_tree(config), key);
    if (!own || !now) return false;
    return strcmp(hu_keys_value(own), hu_keys_value(now)) != 0;
}

/* A key that chooses samples, or says what is stored of them, and has another value; NULL: none. */
static const char *other_choice(const hu_keys *saved, const hu_config *config) {
    static const char *const choices[] = {
        "data.limit",      "data.test_limit", "data.size",    "data.crop",
        "data.scale",      "data.crops",      "data.frames",  "data.unit",
        "data.valid",      "data.length",     "data.source",  "data.target",
        "data.test",       "data.min_count",  "data.streams", "data.part",
        "data.classes",    "data.class_seed", "data.frame",   "data.unlabelled",
        "data.validation", "data.rate",       "data.labels",  "data.damaged"};
    bool has_streams = false;
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++)
        if (is_other(saved, config, choices[i])) return choices[i];
    hu_config_bool(config, "data.streams", &has_streams);
    return has_streams && is_other(saved, config, "run.batch") ? "run.batch" : NULL;
}

/* *key: see other_choice. */
static hu_status look_at_choices(const hu_config *config, const char *directory, const char **key) {
    char *path = NULL;
    hu_keys *saved = NULL;
    hu_status st = hu_run_folder_config(directory, &path);
    if (st == HU_OK) st = hu_yaml_read(path, &saved);
    *key = st == HU_OK ? other_choice(saved, config) : NULL;
    hu_keys_free(saved);
    hu_free(path);
    return st;
}

/* *kept NULL: the folder has none. Owner frees. */
static hu_status read_kept(const char *directory, char **kept) {
    hu_status st;
    char *path = NULL;
    uint8_t *data = NULL;
    size_t bytes;
    bool is_present;
    *kept = NULL;
    HU_TRY(hu_path_join(directory, HU_DATA_FILE, &path));
    HU_TRY(hu_file_find(path, &is_present));
    if (!is_present) goto done;
    HU_TRY(hu_file_read_plain(path, FILE_LIMIT, &data, &bytes));
    st = hu_strndup((const char *)data, bytes, kept);
done:
    hu_free(data);
    hu_free(path);
    return st;
}

static hu_status refuse(const hu_dataset *dataset, const char *directory, const char *what) {
    return hu_fail(HU_ERR_VERSION,
                   "data %s are not those that %s was trained on: %s; data.changed=accept goes on "
                   "with them",
                   dataset->name, directory, what);
}

static hu_status compare(const hu_config *config, const hu_dataset *dataset, const char *directory,
                         const char *kept, const hu_listener *listener, hu_changed_data *changed) {
    hu_status st;
    const char *key, *wish;
    HU_TRY(look_at_choices(config, directory, &key));
    if (key)
        hu_listener_tell(listener,
                         "%s is another than that of %s: samples are not compared with those that "
                         "it was trained on",
                         key, directory);
    HU_TRY(hu_fingerprint_compare(kept, changed->fingerprint, key != NULL, changed->what));
    if (!changed->what[0]) goto done;
    HU_TRY(hu_config_text(config, "data.changed", &wish));
    /* What was accepted once is not accepted for ever. */
    if (!hu_config_asked(config, "data.changed") || strcmp(wish, "accept") != 0)
        return refuse(dataset, directory, changed->what);
    hu_listener_tell(listener, "note: the data have changed, which is accepted: %s", changed->what);
done:
    return st;
}

hu_status hu_changed_data_find(const hu_config *config, const hu_dataset *dataset,
                               const char *directory, const hu_listener *listener,
                               hu_changed_data *changed) {
    hu_status st;
    char *kept = NULL;
    *changed = (hu_changed_data){0};
    HU_TRY(hu_fingerprint_make(dataset, &changed->fingerprint));
    if (!directory) goto done;
    HU_TRY(read_kept(directory, &kept));
    if (kept)
        st = compare(config, dataset, directory, kept, listener, changed);
    else
        hu_listener_tell(listener,
                         "note: %s has no " HU_DATA_FILE ": whether its data have changed is not "
                         "known",
                         directory);
done:
    hu_free(kept);
    return st;
}

hu_status hu_changed_data_write(const hu_changed_data *changed, const char *directory) {
    char *path;
    hu_status st = hu_path_join(directory, HU_DATA_FILE, &path);
    if (st != HU_OK) return st;
    st = hu_file_replace(path, changed->fingerprint, strlen(changed->fingerprint));
    hu_free(path);
    return st;
}

void hu_changed_data_free(hu_changed_data *changed) {
    hu_free(changed->fingerprint);
    *changed = (hu_changed_data){0};
}
