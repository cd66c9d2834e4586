/* halfulp list: the runs of a folder. */
#include <stdio.h>

#include "base/error.h"
#include "cli/verb.h"
#include "config/used.h"
#include "journal/listing.h"
#include "show/stdout.h"

static const char *const no_keys[] = {NULL};

static hu_status print(const json_t *listing, const char *folder) {
    hu_table *table = NULL;
    if (json_array_size(listing) == 0) {
        printf("no run below %s\n", folder);
        return HU_OK;
    }
    hu_status st = hu_listing_table(listing, &table);
    if (st == HU_OK) st = hu_show_table(table);
    hu_table_free(table);
    return st;
}

static hu_status run_list(hu_config *config, int *exit_code) {
    const char *folder = hu_config_subjects(config) > 0 ? hu_config_subject(config, 0) : "runs";
    hu_status st = HU_OK;
    json_t *listing = NULL;
    (void)exit_code;
    HU_TRY(hu_keys_used(config, "list", no_keys));
    HU_TRY(hu_listing_read(folder, &listing));
    if (hu_config_flag(config, "json", NULL))
        st = hu_json_print(json_pack("{s:s, s:O}", "folder", folder, "runs", listing));
    else
        st = print(listing, folder);
done:
    json_decref(listing);
    return st;
}

static const char *const flags[] = {"json", NULL};

const hu_verb hu_verb_list = {
    .name = "list",
    .help = "the runs of a folder: what was trained, how far, how good",
    .usage = "[FOLDER] [--json]",
    .details =
        "FOLDER is one that runs are in (runs), also that of a comparison. State: running,\n"
        "finished, stopped early, diverged, stopped, failed, or damaged where its files cannot be\n"
        "read.\n",
    .flags = flags,
    .max_subjects = 1,
    .keys = no_keys,
    .refuses_others = true,
    .examples = {{"list .", "all runs of this folder"}},
    .run = run_list,
};
