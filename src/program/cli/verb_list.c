/* halfulp list: the runs of a folder, and its comparisons, demos and searches. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "cli/verb.h"
#include "config/unused_keys.h"
#include "help/manual.h"
#include "render/table.h"
#include "runlog/run_list.h"

static const char *const no_keys[] = {NULL};

typedef hu_status table_fn(const json_t *listing, hu_table **table);

/* Nothing of an empty listing. */
static hu_status print_one(const json_t *listing, table_fn *make) {
    hu_table *table = NULL;
    if (json_array_size(listing) == 0) return HU_OK;
    hu_status st = make(listing, &table);
    if (st == HU_OK) st = hu_show_table(table);
    hu_table_free(table);
    return st;
}

static hu_status print(const json_t *runs, const json_t *groups, const char *folder) {
    bool has_runs = json_array_size(runs) > 0, has_groups = json_array_size(groups) > 0;
    if (!has_runs && !has_groups)
        printf("no run directly below %s; `halfulp list FOLDER` lists those of another\n", folder);
    hu_status st = print_one(runs, hu_run_list_table);
    if (has_runs && has_groups) putchar('\n');
    return st == HU_OK ? print_one(groups, hu_run_list_groups_table) : st;
}

static hu_status run_list(hu_config *config, int *exit_code) {
    const char *folder = hu_file_exists("runs") ? "runs" : ".";
    hu_status st = HU_OK;
    json_t *runs = NULL, *groups = NULL;
    (void)exit_code;
    if (hu_config_subjects(config) > 0) folder = hu_config_subject(config, 0);
    HU_TRY(hu_keys_used(config, "list", no_keys));
    for (size_t i = 0; !hu_file_exists(folder) && hu_topic_at(i); i++)
        if (strcmp(hu_topic_at(i)->name, folder) == 0)
            HU_TRY(hu_fail(HU_ERR_MISSING,
                           "%s: no such folder, expected one that runs are in; `halfulp help %s` "
                           "lists %s",
                           folder, folder, folder));
    HU_TRY(hu_run_list_read(folder, &runs));
    HU_TRY(hu_run_list_groups(folder, &groups));
    if (hu_config_flag(config, "json", NULL))
        st = hu_json_print(
            json_pack("{s:s, s:O, s:O}", "folder", folder, "runs", runs, "groups", groups));
    else
        st = print(runs, groups, folder);
done:
    json_decref(runs);
    json_decref(groups);
    return st;
}

static const char *const flags[] = {"json", NULL};

const hu_verb hu_verb_list = {
    .name = "list",
    .group = HU_VERBS_TRAIN,
    .help = "the runs of a folder: what was trained, how far, how good",
    .usage = "[FOLDER] [--json]",
    .details =
        "FOLDER is one that runs are in (runs, or else this one), also that of a comparison. "
        "State: "
        "running,\n"
        "finished, stopped early, diverged, stopped, failed, or damaged where its files cannot be\n"
        "read; ! marks what went wrong. Comparisons, demos and searches stand below the runs.\n",
    .flags = flags,
    .max_subjects = 1,
    .keys = no_keys,
    .refuses_others = true,
    .examples = {{"list .", "all runs of this folder"}},
    .run = run_list,
};
