#include "cli/internal.h"

#include <errno.h>
#include <fts.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "runlog/folder.h"
#include "runlog/run_list.h"

/* Keys that name a file to write. */
static const char *const keys[] = {"out.file", "out.page", "out.pictures"};
enum { KEYS = sizeof keys / sizeof *keys };

/* One file that would be written. */
typedef struct output {
    const char *key, *path;
    bool is_present;
    struct stat info; /* of the file, after all links, if it is present */
    char *real;       /* its path without links; of a new one, that it would get. Owned */
} output;

/* ---- where it is ---- */

/* As it was typed; "." of a name alone. Owner frees. */
static hu_status folder_of(const char *path, char **folder) {
    size_t bytes = (size_t)(hu_path_name(path) - path);
    if (bytes > 1) bytes--; /* without its slash, but for the root */
    return hu_strndup(bytes ? path : ".", bytes ? bytes : 1, folder);
}

/* The folder without links, and the name in it. */
static hu_status resolve_new(const char *path, char **real) {
    hu_status st;
    char *folder = NULL, *resolved = NULL;
    HU_TRY(folder_of(path, &folder));
    resolved = realpath(folder, NULL);
    st = hu_path_join(resolved ? resolved : folder, hu_path_name(path), real);
done:
    free(resolved);
    hu_free(folder);
    return st;
}

static hu_status open_output(const char *key, const char *path, output *o) {
    char *resolved;
    *o = (output){.key = key, .path = path};
    o->is_present = stat(path, &o->info) == 0;
    if (!o->is_present) return resolve_new(path, &o->real);
    if (!(resolved = realpath(path, NULL))) return hu_io_fail(path, "cannot open", errno);
    hu_status st = hu_strdup(resolved, &o->real);
    free(resolved);
    return st;
}

/* What would be written at the end, after hours of training, is asked for before. */
static hu_status check_room(const output *o) {
    hu_status st;
    struct stat info;
    char *folder = NULL;
    if (o->is_present && S_ISDIR(o->info.st_mode))
        return hu_fail(HU_ERR_ARGUMENT, "%s: %s: found a folder, expected a file", o->key, o->path);
    if (o->is_present) return HU_OK;
    HU_TRY(folder_of(o->path, &folder));
    if (stat(folder, &info) != 0)
        st = hu_fail(HU_ERR_MISSING, "%s: %s: found no folder '%s', expected one that is there",
                     o->key, o->path, folder);
done:
    hu_free(folder);
    return st;
}

static bool is_file(const output *o) {
    return o->is_present && S_ISREG(o->info.st_mode);
}

static bool is_same(const output *o, const struct stat *other) {
    return o->info.st_dev == other->st_dev && o->info.st_ino == other->st_ino;
}

static hu_status refuse(const output *o, const char *what, const char *of) {
    return hu_fail(
        HU_ERR_ARGUMENT,
        "%s: %s is %s %s, which would be lost; expected another name for what is written", o->key,
        o->path, what, of);
}

/* ---- files of runs ---- */

/* What a verb makes in the folder of a run itself. */
static bool is_own_product(const hu_verb *verb, const char *name) {
    static const char *const made[][2] = {{"report", "report.html"},
                                          {"export", "weights.safetensors"}};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        if (strcmp(verb->name, made[i][0]) == 0 && strcmp(name, made[i][1]) == 0) return true;
    return false;
}

/* Whether a folder is that of a run or of several. */
static hu_status is_of_runs(const char *folder, bool *is) {
    const char *verb;
    json_t *list = NULL;
    hu_status st = hu_run_folder_is(folder, is);
    if (st != HU_OK || *is) return st;
    st = hu_runs_list(folder, &verb, &list);
    *is = st == HU_OK && *verb;
    json_decref(list);
    return st;
}

/* By the folders that it lies in: RUN/NAME, RUN/checkpoint/NAME. */
static hu_status check_place(const hu_verb *verb, const output *o) {
    enum { DEPTH = 2 };
    hu_status st = HU_OK;
    char *folder = NULL;
    bool is_run = false;
    HU_TRY(hu_strdup(o->real, &folder));
    for (int depth = 0; depth < DEPTH; depth++) {
        char *slash = strrchr(folder, '/');
        if (!slash || slash == folder) break;
        *slash = '\0';
        HU_TRY(is_of_runs(folder, &is_run));
        const char *name = slash + 1;
        if (!is_run || !hu_run_folder_owns(name)) continue;
        if (depth == 0 && is_own_product(verb, name)) continue;
        HU_TRY(refuse(o, "a file of the run", folder));
    }
done:
    hu_free(folder);
    return st;
}

/* ---- files below a folder ---- */

/* What halfulp writes, and no data set is made of. */
static bool is_product(const char *path) {
    static const char *const endings[] = {".csv", ".html", ".json", ".safetensors",
                                          ".svg", ".pdf",  ".tex",  ".yaml"};
    const char *dot = strrchr(hu_path_name(path), '.');
    for (size_t i = 0; dot && i < sizeof endings / sizeof *endings; i++)
        if (strcmp(dot, endings[i]) == 0) return true;
    return false;
}

/* Whether the file lies below the folder by any name, links followed. only_owned: by names of a
 * run, and in folders of them. */
static hu_status find_below(const output *o, const char *folder, bool only_owned, bool *is_found) {
    char *root;
    hu_status st = hu_strdup(folder, &root);
    *is_found = false;
    if (st != HU_OK) return st;
    char *const roots[] = {root, NULL};
    FTS *walk = fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, NULL);
    for (FTSENT *entry; walk && !*is_found && (entry = fts_read(walk));) {
        bool is_out = only_owned && entry->fts_level == 1 && !hu_run_folder_owns(entry->fts_name);
        if (is_out && entry->fts_info == FTS_D) fts_set(walk, entry, FTS_SKIP);
        if (entry->fts_info == FTS_F && !is_out) *is_found = is_same(o, entry->fts_statp);
    }
    if (walk) fts_close(walk);
    hu_free(root);
    return HU_OK;
}

/* ---- inputs ---- */

/* A word that may name an input; key: who names it. */
static hu_status check_path(const output *o, const char *key, const char *path) {
    hu_status st = HU_OK;
    struct stat info;
    bool is_found = false, is_run = false;
    if (!path[0] || stat(path, &info) != 0) return HU_OK;
    if (S_ISREG(info.st_mode)) return is_same(o, &info) ? refuse(o, "the file of", key) : HU_OK;
    if (!S_ISDIR(info.st_mode)) return HU_OK;
    HU_TRY(is_of_runs(path, &is_run));
    if (is_run) {
        /* By another name than its own: a second link. */
        if (o->info.st_nlink > 1) HU_TRY(find_below(o, path, true, &is_found));
        return is_found ? refuse(o, "a file of the run", path) : HU_OK;
    }
    if (is_product(o->real) && o->info.st_nlink == 1) return HU_OK;
    HU_TRY(find_below(o, path, false, &is_found));
    if (is_found) st = refuse(o, "one of the files of", key);
done:
    return st;
}

/* A value, and what stands in it after "@" or a colon: @FILE, KIND:DIR, ink:idx:DIR. */
static hu_status check_value(const output *o, const char *key, const char *value) {
    hu_status st = check_path(o, key, value);
    for (const char *c = value; st == HU_OK && (c = strpbrk(c, "@:")) != NULL;)
        st = check_path(o, key, ++c);
    return st;
}

static bool is_output(const char *key) {
    for (size_t i = 0; i < KEYS; i++)
        if (strcmp(key, keys[i]) == 0) return true;
    return strcmp(key, "run.dir") == 0 || strcmp(key, "run.name") == 0;
}

/* All texts of a tree that may name files. */
static hu_status check_tree(const output *o, const hu_keys *tree, const char *owner) {
    hu_status st = HU_OK;
    char who[300];
    for (size_t i = 0; i < hu_config_key_count && st == HU_OK; i++) {
        const hu_config_key *key = &hu_config_keys[i];
        const hu_keys *node = hu_keys_find(tree, key->name);
        bool may_name = key->type == HU_CONFIG_TEXT || key->type == HU_CONFIG_LIST;
        if (!node || !may_name || is_output(key->name)) continue;
        snprintf(who, sizeof who, "%s%s%s", key->name, *owner ? " of the run " : "", owner);
        if (hu_keys_kind_of(node) == HU_KEYS_TEXT)
            st = check_value(o, who, hu_keys_value(node));
        else
            for (size_t k = 0; k < hu_keys_count(node) && st == HU_OK; k++)
                if (hu_keys_kind_of(hu_keys_at(node, k)) == HU_KEYS_TEXT)
                    st = check_value(o, who, hu_keys_value(hu_keys_at(node, k)));
    }
    return st;
}

/* A subject is a file, a folder of files, or a run, which was given inputs itself. */
static hu_status check_subject(const output *o, const char *subject) {
    hu_status st;
    bool is_run = false;
    char *path = NULL;
    hu_keys *saved = NULL;
    HU_TRY(check_path(o, "the command", subject));
    HU_TRY(hu_run_folder_is(subject, &is_run));
    if (!is_run) goto done;
    HU_TRY(hu_path_join(subject, "config.resolved.yaml", &path));
    /* What is wrong with it is found out by who needs it. */
    st = hu_yaml_read(path, &saved);
    if (st == HU_ERR_MEMORY) goto done;
    st = saved ? check_tree(o, saved, subject) : HU_OK;
done:
    hu_keys_free(saved);
    hu_free(path);
    return st;
}

/* As it was typed: config=FILE, and plans, of which the tree has what they say. */
static hu_status check_word(const output *o, const char *word) {
    enum { KEY_BYTES = 64 };
    char name[KEY_BYTES];
    size_t length = strcspn(word, "=");
    if (!word[length] || length >= sizeof name) return HU_OK;
    snprintf(name, sizeof name, "%.*s", (int)length, word);
    const hu_config_key *key = hu_config_key_find(name);
    if (key && is_output(key->name)) return HU_OK;
    return check_value(o, name, word + length + 1);
}

static hu_status check_inputs(const output *o, const hu_config *config, int argc, char **argv) {
    hu_status st = HU_OK;
    for (int i = 1; i < argc; i++) HU_TRY(check_word(o, argv[i]));
    for (int i = 0; i < hu_config_subjects(config); i++)
        HU_TRY(check_subject(o, hu_config_subject(config, i)));
    st = check_tree(o, hu_config_tree(config), "");
done:
    return st;
}

/* ---- all outputs ---- */

static hu_status check_file(const hu_verb *verb, const hu_config *config, int argc, char **argv,
                            const output *o) {
    hu_status st = check_place(verb, o);
    return st == HU_OK && is_file(o) ? check_inputs(o, config, argc, argv) : st;
}

/* A folder that gets a run's files: none of them may be an input. */
static hu_status check_folder(const hu_config *config, int argc, char **argv, const char *folder) {
    hu_status st = HU_OK;
    char *root = NULL;
    bool is_run = false;
    HU_TRY(is_of_runs(folder, &is_run));
    if (is_run) return HU_OK; /* told by who opens it */
    HU_TRY(hu_strdup(folder, &root));
    char *const roots[] = {root, NULL};
    FTS *walk = fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, NULL);
    for (FTSENT *entry; walk && st == HU_OK && (entry = fts_read(walk));) {
        bool is_own = entry->fts_level == 1 && hu_run_folder_owns(entry->fts_name);
        if (entry->fts_level >= 1 && entry->fts_info == FTS_D) fts_set(walk, entry, FTS_SKIP);
        if (!is_own || entry->fts_info != FTS_F) continue;
        output o;
        st = open_output("run.dir", entry->fts_path, &o);
        if (st == HU_OK) st = check_inputs(&o, config, argc, argv);
        hu_free(o.real);
    }
    if (walk) fts_close(walk);
    hu_free(root);
done:
    return st;
}

hu_status hu_outputs_check(const hu_verb *verb, const hu_config *config, int argc, char **argv) {
    hu_status st = HU_OK;
    output made[KEYS] = {{.real = NULL}};
    const char *folder;
    for (size_t i = 0; i < KEYS; i++) {
        const char *path;
        if (!hu_config_asked(config, keys[i]) || !hu_verb_takes(verb, keys[i])) continue;
        HU_TRY(hu_config_text(config, keys[i], &path));
        if (!path[0] || strcmp(path, "auto") == 0) continue;
        HU_TRY(open_output(keys[i], path, &made[i]));
        HU_TRY(check_room(&made[i]));
        HU_TRY(check_file(verb, config, argc, argv, &made[i]));
        for (size_t k = 0; k < i; k++)
            if (made[k].real && strcmp(made[k].real, made[i].real) == 0)
                HU_TRY(hu_fail(HU_ERR_ARGUMENT, "found %s=%s and %s=%s, expected two files",
                               keys[k], made[k].path, keys[i], path));
    }
    if (!hu_config_asked(config, "run.dir") || !hu_verb_takes(verb, "run.dir")) goto done;
    HU_TRY(hu_config_text(config, "run.dir", &folder));
    if (folder[0] && strcmp(folder, "auto") != 0) st = check_folder(config, argc, argv, folder);
done:
    for (size_t i = 0; i < KEYS; i++) hu_free(made[i].real);
    return st;
}
