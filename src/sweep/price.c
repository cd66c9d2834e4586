#include "sweep/price.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "session/options.h"
#include "session/saved_data.h"

enum { FIXED_WORDS = 4, PATH_BYTES = 4096 };

/* The run's configuration with the words of an option, NULL: as it is. Words are borrowed by the
 * configuration. */
typedef struct words {
    char file[PATH_BYTES + 64], word[HU_REPAIR_WORDS][HU_REPAIR_WORD_BYTES];
    char *argv[FIXED_WORDS + HU_REPAIR_WORDS];
    int argc;
} words;

static void take_word(words *w, char *word) {
    w->argv[w->argc++] = word;
}

static void make_words(const char *folder, const hu_repair_option *option, words *w) {
    static char program[] = "halfulp", verb[] = "plan", fresh[] = "scaler.init=auto";
    bool sets_scaler = false, sets_init = false;
    w->argc = 0;
    snprintf(w->file, sizeof w->file, "config=%s/config.resolved.yaml", folder);
    take_word(w, program);
    take_word(w, verb);
    take_word(w, w->file);
    for (int i = 0; option && i < option->words; i++) {
        memcpy(w->word[i], option->word[i], sizeof w->word[i]);
        sets_scaler |= strncmp(w->word[i], "scaler=", 7) == 0;
        sets_init |= strncmp(w->word[i], "scaler.init=", 12) == 0;
        take_word(w, w->word[i]);
    }
    if (sets_scaler && !sets_init) take_word(w, fresh);
}

static hu_status plan(const char *folder, words *w, uint64_t *bytes) {
    hu_status st = HU_OK;
    hu_config *config = NULL;
    hu_dataset *dataset = NULL;
    hu_precision precision = {0};
    hu_train_options options;
    hu_trainer *trainer = NULL;
    const hu_config_request request = {.argc = w->argc, .argv = w->argv, .verb_index = 1};
    HU_TRY(hu_config_load(&request, &config));
    HU_TRY(hu_unread_data_open(config, folder, &dataset));
    HU_TRY(hu_options_train(config, dataset, &precision, &options));
    options.run.is_plan = true;
    HU_TRY(hu_trainer_create(&options, dataset, &trainer));
    *bytes = hu_trainer_ledger(trainer).total;
done:
    hu_trainer_free(trainer);
    hu_precision_free(&precision);
    hu_dataset_close(dataset);
    hu_config_free(config);
    return st;
}

/* What cannot be planned has no price, and is no failure of who asks why. */
static hu_status price(const char *folder, const hu_repair_option *option, uint64_t *bytes) {
    words w;
    *bytes = 0;
    if (strlen(folder) >= PATH_BYTES) return HU_OK;
    make_words(folder, option, &w);
    hu_status st = plan(folder, &w, bytes);
    return st == HU_ERR_MEMORY ? st : HU_OK;
}

hu_status hu_repair_price(const char *folder, hu_repair *advice) {
    hu_status st = HU_OK;
    if (advice->count == 0) return HU_OK;
    HU_TRY(price(folder, NULL, &advice->bytes));
    for (int o = 0; o < advice->count && advice->bytes; o++)
        HU_TRY(price(folder, &advice->option[o], &advice->option[o].bytes));
done:
    return st;
}
