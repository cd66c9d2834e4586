/* Trainings in which one allocation fails, and keys with values that do not fit: what is said, and
 * nothing that stays. */
#define _XOPEN_SOURCE 700 /* nftw */
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/memory.h"
#include "session/session.h"
#include "settings/dataset.h"
#include "settings/options.h"

#define SMALL                                                                                      \
    "data=glyphs", "data.limit=32", "data.test_limit=8", "batch=16", "threads=1", "model.width=0.05"
enum { WORDS = 24, FAULTS = 20 };

/* What trainings differ in; each takes other ways through the room. */
static const char *const trainings[][WORDS] = {
    {SMALL, "model=cnn-s", "precision=hfp8", "scaler=dynamic", "run.histogram_every=1",
     "run.checkpoint_every=1", "run.log_every=1", "stop.patience=2", "optimizer.average=0.9"},
    {SMALL, "model=cnn-s", "precision=e4m3fn:scale=delayed", "optimizer=adam", "lr.schedule=step",
     "lr.milestones=1,2", "optimizer.no_decay=*.bias", "data.augment=crop,flip"},
    {SMALL, "model=cvae-s", "precision=uniform8", "lr.knots=0:0,1:0.1", "lr.schedule=piecewise"},
    {SMALL, "model=cnn-s", "precision=fp16", "workers=2", "comm.format=e5m2", "lr.rules=*.bias:2"},
};

static char folder[] = "/tmp/halfulp-faults-XXXXXX";

static hu_status load(const char *const *words, const char *more, hu_config **config) {
    char *all[WORDS + 2] = {"halfulp"};
    int count = 1;
    while (words[count - 1]) {
        all[count] = (char *)words[count - 1];
        count++;
    }
    if (more) all[count++] = (char *)more;
    const hu_config_request request = {.argc = count, .argv = all, .verb_index = -1};
    return hu_config_load(&request, config);
}

static int unlink_one(const char *path, const struct stat *info, int kind, struct FTW *at) {
    (void)info, (void)kind, (void)at;
    return remove(path);
}

/* A training that has ended says that it has no pictures of its samples, and is one all the same.
 */
static void hear(void *context, const char *text) {
    bool *is_told = context;
    *is_told = *is_told || strstr(text, "cannot allocate");
}

/* Two steps, an evaluation and what is written of them, into a folder of its own. *is_told: a
 * message said that memory was missing. */
static hu_status train(const char *const *words, bool *is_told) {
    const hu_listener listener = {.context = is_told, .on_message = hear};
    hu_config *config = NULL;
    hu_dataset *dataset = NULL;
    hu_session session = {0};
    hu_session_result result;
    char run[sizeof folder + 8];
    snprintf(run, sizeof run, "%s/run", folder);
    hu_status st = load(words, "steps=2", &config);
    if (st == HU_OK) st = hu_session_dataset(config, NULL, &dataset);
    if (st == HU_OK)
        st = hu_session_open(config, dataset, NULL, run, false, &listener, NULL, &session);
    if (st == HU_OK) st = hu_session_run(&session, &result);
    if (st == HU_OK) st = hu_session_write_result(&session, &result);
    hu_session_close(&session);
    hu_dataset_close(dataset);
    hu_config_free(config);
    nftw(run, unlink_one, 16, FTW_DEPTH | FTW_PHYS);
    return st;
}

static void a_failed_allocation_is_told_and_leaks_nothing(void **state) {
    (void)state;
    for (size_t t = 0; t < sizeof trainings / sizeof *trainings; t++) {
        bool is_told = false;
        if (train(trainings[t], &is_told) != HU_OK)
            fail_msg("training %zu: %s", t, hu_last_error());
        uint64_t before = hu_memory_count().allocations, told = 0;
        train(trainings[t], &is_told);
        uint64_t all = hu_memory_count().allocations - before;
        uint64_t blocks = hu_memory_count().live_blocks;
        for (uint64_t k = 0; k < FAULTS; k++) {
            uint64_t nth = 1 + k * (all - 1) / (FAULTS - 1);
            hu_memory_fail_at(nth);
            is_told = false;
            hu_status st = train(trainings[t], &is_told);
            hu_memory_fail_at(0);
            told += st == HU_ERR_MEMORY || is_told;
            if (st != HU_OK && st != HU_ERR_MEMORY)
                fail_msg("training %zu, allocation %llu: %s", t, (unsigned long long)nth,
                         hu_last_error());
            assert_int_equal(hu_memory_count().live_blocks, blocks);
        }
        assert_true(told > FAULTS * 9 / 10); /* few blocks only can be done without */
    }
}

/* What is asked in more ways than are trained above. */
static const char *const asked[][WORDS] = {
    {SMALL, "model=resnet20", "optimizer=lars", "lr.schedule=plateau", "lr.patience=2",
     "eval.every=1"},
    {SMALL, "model=cnn-s", "precision=w=e4m3fn,act=fp16,grad=fp16,wgrad=fp16", "scaler=constant",
     "accumulator=fmacs", "accumulator.rules=fc: fmac:fp16", "optimizer.clip_norm=1"},
    {SMALL, "model=cnn-s", "precision=cpt:3-8", "bits.cycles=2", "data.shuffle=off"},
    {SMALL, "model=cnn-s", "precision.epochs=0:fp32,1:hfp8", "epochs=2", "lr.warmup=1"},
    {SMALL, "model=cnn-s", "precision=fp16", "precision.rules=fc*: fp32", "master=off"},
    {SMALL, "model=dcgan-s", "task.smoothing=0.1", "lr.turn_2=0.5", "precision=demote:0.5"},
    {SMALL, "model=cvae-s", "task.beta=2", "init=check", "precision=uniform+promote"},
};

/* Data set and options of words, the nth allocation of them failing (0: none); *made: how many. */
static hu_status resolve(const char *const *words, uint64_t nth, uint64_t *made) {
    hu_config *config = NULL;
    hu_dataset *dataset = NULL;
    hu_precision precision = {0};
    hu_train_options options;
    hu_status st = load(words, NULL, &config);
    assert_int_equal(st, HU_OK);
    uint64_t before = hu_memory_count().allocations;
    hu_memory_fail_at(nth);
    st = hu_session_dataset(config, NULL, &dataset);
    if (st == HU_OK) st = hu_options_train(config, dataset, &precision, &options);
    hu_memory_fail_at(0);
    *made = hu_memory_count().allocations - before;
    hu_precision_free(&precision);
    hu_dataset_close(dataset);
    hu_config_free(config);
    return st;
}

/* Every allocation between the words and the trainer. */
static void what_is_asked_is_read_or_out_of_memory(void **state) {
    (void)state;
    for (size_t a = 0; a < sizeof asked / sizeof *asked; a++) {
        uint64_t all, made, blocks = hu_memory_count().live_blocks;
        if (resolve(asked[a], 0, &all) != HU_OK) fail_msg("words %zu: %s", a, hu_last_error());
        assert_int_equal(hu_memory_count().live_blocks, blocks);
        assert_true(all > 0);
        for (uint64_t nth = 1; nth <= all; nth++) {
            hu_status st = resolve(asked[a], nth, &made);
            if (st != HU_OK && st != HU_ERR_MEMORY)
                fail_msg("words %zu, allocation %llu: %s", a, (unsigned long long)nth,
                         hu_last_error());
            if (hu_memory_count().live_blocks != blocks)
                fail_msg("words %zu, allocation %llu leaks", a, (unsigned long long)nth);
        }
    }
}

/* A key's value is taken, or refused by a message that has the key, its last part or the value. */
static void try_value(const hu_config_key *key, const char *value) {
    static const char *const words[WORDS] = {SMALL, NULL};
    char word[256];
    hu_config *config = NULL;
    hu_dataset *dataset = NULL;
    hu_precision precision = {0};
    hu_train_options options;
    uint64_t blocks = hu_memory_count().live_blocks;
    snprintf(word, sizeof word, "%s=%s", key->name, value);
    hu_status st = load(words, word, &config);
    if (st == HU_OK) st = hu_session_dataset(config, NULL, &dataset);
    if (st == HU_OK) st = hu_options_train(config, dataset, &precision, &options);
    const char *part = strrchr(key->name, '.'), *said = hu_last_error();
    if (st != HU_OK && !strstr(said, part ? part + 1 : key->name) && !strstr(said, value))
        fail_msg("%s: %s", word, said);
    hu_precision_free(&precision);
    hu_dataset_close(dataset);
    hu_config_free(config);
    if (hu_memory_count().live_blocks != blocks) fail_msg("%s leaves blocks", word);
}

static void every_value_is_taken_or_refused_by_name(void **state) {
    (void)state;
    static const char *const value[] = {"auto", "-1", "nosuch", "0.5", "3"};
    for (size_t k = 0; k < hu_config_key_count; k++)
        for (size_t v = 0; v < sizeof value / sizeof *value; v++)
            try_value(&hu_config_keys[k], value[v]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failed_allocation_is_told_and_leaks_nothing),
        cmocka_unit_test(what_is_asked_is_read_or_out_of_memory),
        cmocka_unit_test(every_value_is_taken_or_refused_by_name),
    };
    if (!mkdtemp(folder)) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    nftw(folder, unlink_one, 16, FTW_DEPTH | FTW_PHYS);
    return failed;
}
