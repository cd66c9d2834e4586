/* Words of a command line, one a line, and after a byte 0xff the file that config=@ names. The
 * resolved configuration is printed, read and merged into a fresh one as resume does, and is then
 * the same. */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "config/load.h"

/* Of so many inputs one is asked what verbs ask, one for every key, one has defaults of its own,
 * one is read again as resume does: each takes as long as that many others. */
enum { WORDS_MAX = 40, ASKED_OF = 8, VALUES_OF = 500, WHOLE_OF = 200, RESOLVED_OF = 500 };

static const char *const flags[] = {"json", "round=", NULL};

static hu_status load(int argc, char **argv, hu_config **config) {
    const hu_config_request request = {
        .argc = argc, .argv = argv, .verb_index = 1, .flags = flags, .max_subjects = 2};
    return hu_config_load(&request, config);
}

/* scaler.init=auto:RUN, whose number the run has, is none yet. */
static bool is_from_run(const hu_config *config, const hu_config_key *key) {
    const hu_keys *node = hu_keys_find(config->tree, key->name);
    return strcmp(key->name, "scaler.init") == 0 && strncmp(hu_keys_value(node), "auto:", 5) == 0;
}

static void check_value(const hu_config *config, const hu_config_key *key) {
    const char *text;
    int64_t i;
    double d;
    bool b;
    const hu_keys *list;
    bool is_auto = hu_config_is_auto(config, key->name);
    if (key->type == HU_CONFIG_TEXT || key->type == HU_CONFIG_CHOICE)
        FUZZ_CHECK(hu_config_text(config, key->name, &text) == HU_OK);
    if (key->type == HU_CONFIG_LIST)
        FUZZ_CHECK(hu_config_list(config, key->name, &list) == HU_OK &&
                   hu_keys_kind_of(list) == HU_KEYS_LIST);
    if (is_auto || is_from_run(config, key)) return;
    if (key->type == HU_CONFIG_INT && key->most <= 0x1p62) {
        FUZZ_CHECK(hu_config_i64(config, key->name, &i) == HU_OK);
        FUZZ_CHECK((double)i >= key->least && (double)i <= key->most);
    }
    if (key->type == HU_CONFIG_REAL) {
        FUZZ_CHECK(hu_config_f64(config, key->name, &d) == HU_OK);
        FUZZ_CHECK(d >= key->least && d <= key->most);
    }
    if (key->type == HU_CONFIG_BOOL) FUZZ_CHECK(hu_config_bool(config, key->name, &b) == HU_OK);
}

/* Of every key that was given, and for a share of the inputs of all. */
static void check_values(const hu_config *config) {
    bool is_all = fuzz_is_one_of(VALUES_OF);
    for (size_t k = 0; k < hu_config_key_count; k++)
        if (is_all || config->given[k]) check_value(config, &hu_config_keys[k]);
}

/* What verbs ask. */
static void check_questions(const hu_config *config) {
    const char *value;
    uint64_t u;
    for (int i = 0; i <= hu_config_subjects(config); i++)
        FUZZ_CHECK((hu_config_subject(config, i) != NULL) == (i < hu_config_subjects(config)));
    if (hu_config_flag(config, "round", &value)) FUZZ_CHECK(!value || strlen(value) < SIZE_MAX);
    FUZZ_CHECK(!hu_config_asked(config, "lr") || hu_config_given(config, "lr"));
    FUZZ_CHECK(!hu_config_typed(config, "lr") || hu_config_given(config, "lr"));
    (void)hu_config_u64(config, "seed", &u);
    FUZZ_CHECK(hu_config_u64(config, "no such key", &u) == HU_ERR_INTERNAL);
}

/* What is set where the user left it open, and what takes the place of a word. */
static void check_set(hu_config *config) {
    bool is_open = !hu_config_given(config, "lr") || hu_config_is_auto(config, "lr");
    double lr = 0;
    if (FUZZ_DONE(hu_config_set(config, "lr", "0.25", "recipe")) && is_open)
        FUZZ_CHECK(hu_config_f64(config, "lr", &lr) == HU_OK && lr == 0.25);
    if (FUZZ_DONE(hu_config_replace(config, "lr", "0.5", "recipe")))
        FUZZ_CHECK(hu_config_f64(config, "lr", &lr) == HU_OK && lr == 0.5);
    FUZZ_CHECK(hu_config_replace(config, "lr", "x", "recipe") != HU_OK);
}

static void check_resolved(const hu_config *config, char **argv) {
    char *printed = NULL;
    hu_keys *tree = NULL;
    hu_config *resumed = NULL;
    if (FUZZ_DONE(hu_keys_print(hu_config_tree(config), &printed)) &&
        FUZZ_DONE(hu_yaml_parse(printed, strlen(printed), "resolved", &tree)) &&
        FUZZ_DONE(load(2, argv, &resumed)) && FUZZ_DONE(hu_config_recall(resumed, tree)))
        FUZZ_CHECK(hu_keys_equal(hu_config_tree(config), hu_config_tree(resumed)));
    hu_free(printed);
    hu_keys_free(tree);
    hu_config_free(resumed);
}

/* Tries again what fails where the allocation lies that was made to fail: only one is. */
#define ONCE_MORE(expression)                                                                      \
    while (!FUZZ_DONE(expression)) continue

/* A key as it was before words and files. */
static void forget(hu_config *config, const hu_config_key *key) {
    size_t row = hu_config_row(key);
    config->given[row] = config->recalled[row] = false;
    config->typed[row] = NULL;
    if (key->type == HU_CONFIG_LIST)
        ONCE_MORE(hu_config_store(config, key, key->preset, "default"));
    else
        ONCE_MORE(hu_keys_set_text(config->tree, key->name, key->preset, "default"));
}

/* The configuration as it is without words and files, again. The rows of keys that words, files
 * and check_set change are marked, but for the first two here. */
static void forget_words(hu_config *config) {
    forget(config, hu_config_key_find("lr"));
    forget(config, hu_config_key_find("run.steps"));
    for (size_t i = 0; i < hu_config_key_count; i++)
        if (config->given[i] || config->typed[i]) forget(config, &hu_config_keys[i]);
    config->subjects = config->flags = 0;
}

/* Every key with its default, which takes a thousand allocations: made before any of them fails. */
static hu_config *kept;

static void free_kept(void) {
    hu_config_free(kept);
}

__attribute__((constructor)) static void keep(void) {
    char *words[] = {"halfulp", "train"};
    if (load(2, words, &kept) != HU_OK || atexit(free_kept) != 0) abort();
}

/* That nothing is left in it of what it was used for. */
static void check_kept(void) {
    char *words[] = {"halfulp", "train"};
    hu_config *fresh;
    if (!FUZZ_DONE(load(2, words, &fresh))) return;
    FUZZ_CHECK(hu_keys_equal(kept->tree, fresh->tree));
    for (size_t i = 0; i < hu_config_key_count; i++)
        FUZZ_CHECK(!kept->given[i] && !kept->recalled[i] && !kept->typed[i]);
    hu_config_free(fresh);
}

static void check_loaded(hu_config *config, char **argv) {
    check_values(config);
    if (fuzz_is_one_of(RESOLVED_OF)) check_resolved(config, argv);
    if (!fuzz_is_one_of(ASKED_OF)) return;
    check_questions(config);
    check_set(config);
}

static void check_status(hu_status st) {
    FUZZ_CHECK(hu_last_error()[0] != '\0');
    FUZZ_CHECK(st == HU_ERR_PARSE || st == HU_ERR_UNKNOWN || st == HU_ERR_CORRUPT ||
               st == HU_ERR_ARGUMENT || st == HU_ERR_VERSION || st == HU_ERR_LIMIT ||
               st == HU_ERR_MISSING || fuzz_was_fault(st));
}

/* The words are read into defaults that are present already, and for a share of the inputs into a
 * configuration of their own. */
static void check_words(int argc, char **argv) {
    hu_config *config;
    bool is_whole = fuzz_is_one_of(WHOLE_OF);
    const hu_config_request request = {
        .argc = argc, .argv = argv, .verb_index = 1, .flags = flags, .max_subjects = 2};
    hu_status st = is_whole ? load(argc, argv, &config) : hu_config_read_words(kept, &request);
    if (st != HU_OK) check_status(st);
    if (is_whole) {
        FUZZ_CHECK((st == HU_OK) == (config != NULL));
        if (st == HU_OK) check_loaded(config, argv);
        hu_config_free(config);
        check_kept();
    } else {
        if (st == HU_OK) check_loaded(kept, argv);
        forget_words(kept);
    }
}

void fuzz_one(const uint8_t *data, size_t size) {
    static char program[] = "halfulp", verb[] = "train";
    const uint8_t *end = size ? memchr(data, 0xff, size) : NULL;
    size_t words = end ? (size_t)(end - data) : size;
    char *text = fuzz_text(data, words), *rest = text, *word, named[2][512];
    snprintf(named[0], sizeof named[0], "config=%s/a.yaml", fuzz_folder());
    snprintf(named[1], sizeof named[1], "precision=%s/a.yaml", fuzz_folder());
    if (end) fuzz_put("a.yaml", end + 1, size - words - 1);
    char *argv[WORDS_MAX] = {program, verb};
    int argc = 2;
    while (argc < WORDS_MAX && (word = strsep(&rest, "\n"))) {
        if (strcmp(word, "config=@") == 0) word = named[0];
        if (strcmp(word, "precision=@") == 0) word = named[1];
        bool is_other = strncmp(word, "config=", 7) == 0 && word != named[0];
        if (!is_other) argv[argc++] = word; /* no files of this machine */
    }
    check_words(argc, argv);
    free(text);
}

bool fuzz_seed(size_t index, hu_byte_writer *seed) {
    static const char *const texts[] = {
        "cnn-s\nlr=0.05\nbatch=128\nsteps=1000\n--json\nseed=18446744073709551615",
        "data=glyphs\ndata.augment=crop, flip\nprecision.rules=[conv1.weight: e4m3, 'act: fp16']",
        "lr.schedule=step\nlr.milestones=[80, 120]\noptimizer.nesterov=on\nscaler=dynamic",
        "precision=w=e4m3,act=e5m2\nrun.dir=runs/\xc3\xa9\nlr.base=0x1p-4",
        "e4m3:bias=3\n--round=sr",
        "lr=auto\nlr.knots=0:0,5:0.4",
        "data.augment=[]\nmodel=",
        "-o\nfile\na\nb",
        "steps=5\nepochs=3",
        "batch_size=3",
        "model=1\nlr=-1",
        "batch=0",
        "--lr\n0.1",
        "a\nlr=0.1\nbatchsize=3",
        "config=@\nlr=2\xff"
        "lr: {base: 0.5, knots: [1, 2]}\nrun:\n  batch: 3\nevidence: x\n",
        "config=@\nbatch=2\xff"
        "halfulp_plan: 1\ntensors:\n  a: {value: fp16}\n",
        "precision=@\xff"
        "precision:\n  name: plan\n  low_tensors: [0]\n",
        "config=@\xff"
        "config: b\n",
        "config=@\xff"
        "dtype: fp16\n",
        "config=@\xff"
        "lr: 1\nlr.base: 2\n",
        "config=@\xff"
        "optimizer: sgd\nrules: 1\n",
        "scaler.init=auto:runs/a\nscaler=dynamic"};
    return index < sizeof texts / sizeof *texts && fuzz_text_seed(texts[index], seed);
}
