#include "journal/runs.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "journal/owned.h"
#include "journal/progress.h"

#define CONFIG_NAME "config.resolved.yaml"
static const char config_name[] = CONFIG_NAME;

static bool has_file(const char *directory, const char *name) {
    char *path = NULL;
    bool is_there = hu_path_join(directory, name, &path) == HU_OK && hu_file_exists(path);
    hu_free(path);
    return is_there;
}

hu_status hu_run_folder_is(const char *directory, bool *is_run) {
    char *path = NULL;
    *is_run = false;
    hu_status st = hu_path_join(directory, config_name, &path);
    if (st == HU_OK) st = hu_file_find(path, is_run);
    hu_free(path);
    return st;
}

/* Folders directly below of which `is` says so, by name. */
static hu_status find_below(const char *directory, hu_status (*is)(const char *, bool *),
                            hu_names *names) {
    hu_status st = HU_OK;
    uint32_t number;
    bool is_one;
    char *path = NULL;
    DIR *open = opendir(directory);
    *names = (hu_names){0};
    if (!open && errno == ENOMEM) return hu_io_fail(directory, "cannot open", errno);
    for (struct dirent *entry; open && (entry = readdir(open));) {
        if (entry->d_name[0] == '.') continue;
        HU_TRY(hu_path_join(directory, entry->d_name, &path));
        HU_TRY(is(path, &is_one));
        if (is_one) HU_TRY(hu_names_intern(names, entry->d_name, HU_NAMES_NONE, &number));
        hu_free(path);
        path = NULL;
    }
    hu_names_sort(names);
done:
    if (open) closedir(open);
    hu_free(path);
    return st;
}

hu_status hu_runs_below(const char *directory, hu_names *names) {
    return find_below(directory, hu_run_folder_is, names);
}

static const struct {
    const char *file, *verb, *words;
} lists[] = {{"compare.json", "compare", "a comparison"},
             {"demo.json", "demo", "a demo"},
             {"assign.json", "assign", "a search"}};
enum { LISTS = sizeof lists / sizeof *lists };

/* Place of the list that a verb left in its folder; LISTS: none has. */
static size_t list_of(const char *directory) {
    size_t i = 0;
    while (i < LISTS && !has_file(directory, lists[i].file)) i++;
    return i;
}

hu_status hu_runs_list(const char *directory, const char **verb, json_t **list) {
    char *path = NULL;
    size_t i = list_of(directory);
    *verb = i < LISTS ? lists[i].verb : "";
    *list = NULL;
    if (i == LISTS) return HU_OK;
    hu_status st = hu_path_join(directory, lists[i].file, &path);
    if (st == HU_OK) st = hu_json_load(path, list);
    hu_free(path);
    return st;
}

/* Trainings have such a file, too, beside their configuration. */
static hu_status is_group(const char *directory, bool *is) {
    bool is_run;
    hu_status st = hu_run_folder_is(directory, &is_run);
    *is = st == HU_OK && !is_run &&
          (list_of(directory) < LISTS || has_file(directory, HU_PROGRESS_FILE));
    return st;
}

hu_status hu_groups_below(const char *directory, hu_names *names) {
    return find_below(directory, is_group, names);
}

/* What left a list of runs in its folder, in words. */
static const char *kind_of(const char *directory) {
    size_t i = list_of(directory);
    return i < LISTS ? lists[i].words : "several runs";
}

static bool is_file(const char *path) {
    struct stat facts;
    return stat(path, &facts) == 0 && S_ISREG(facts.st_mode);
}

/* HU_ERR_MISSING, or the runs that the user may have meant. */
static hu_status explain(const char *directory) {
    enum { SHOWN = 6 };
    char text[2048] = "";
    size_t used = 0;
    hu_names names;
    hu_status st = hu_runs_below(directory, &names);
    uint32_t shown = names.count < SHOWN ? names.count : SHOWN;
    for (uint32_t i = 0; i < shown && used < sizeof text; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%.100s/%.200s", i ? ", " : "",
                                 directory, names.name[i]);
    if (st == HU_OK && names.count == 0)
        st = hu_fail(HU_ERR_MISSING, "%s: no run folder (%s)", directory,
                     is_file(directory) ? "it is a file" : CONFIG_NAME " is not there");
    else if (st == HU_OK)
        st = hu_fail(HU_ERR_ARGUMENT,
                     "%s: found the folder of %s, expected one of its %u runs: %s%s", directory,
                     kind_of(directory), names.count, text, names.count > SHOWN ? ", ..." : "");
    hu_names_free(&names);
    return st;
}

hu_status hu_run_folder_config(const char *directory, char **path) {
    bool is_there = false;
    hu_status st = hu_path_join(directory, config_name, path);
    if (st == HU_OK) st = hu_file_find(*path, &is_there);
    if (st == HU_OK && is_there) st = hu_owned_check(directory);
    if (st == HU_OK && is_there) return HU_OK;
    hu_free(*path);
    *path = NULL;
    return st == HU_OK ? explain(directory) : st;
}
