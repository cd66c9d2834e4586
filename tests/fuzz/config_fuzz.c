/* Words of a command line, one a line. The resolved configuration is printed, read and merged into
 * a fresh one as resume does, and is then the same. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "config/config.h"

enum { WORDS_MAX = 40 };

static const char *const flags[] = {"json", "round=", NULL};

static hu_status load(int argc, char **argv, hu_config **config) {
    hu_config_request request = {argc, argv, 1, flags, 2};
    return hu_config_load(&request, config);
}

static void check_values(const hu_config *config) {
    const char *text;
    int64_t i;
    double d;
    bool b;
    const hu_keys *list;
    for (size_t k = 0; k < hu_config_key_count; k++) {
        const hu_config_key *key = &hu_config_keys[k];
        bool is_auto = hu_config_is_auto(config, key->name);
        if (key->type == HU_CONFIG_TEXT || key->type == HU_CONFIG_CHOICE)
            FUZZ_CHECK(hu_config_text(config, key->name, &text) == HU_OK);
        if (key->type == HU_CONFIG_LIST)
            FUZZ_CHECK(hu_config_list(config, key->name, &list) == HU_OK &&
                       hu_keys_kind_of(list) == HU_KEYS_LIST);
        if (is_auto) continue;
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
}

static void check_resolved(const hu_config *config, char **argv) {
    char *printed = NULL;
    hu_keys *tree = NULL;
    hu_config *resumed = NULL;
    if (FUZZ_DONE(hu_keys_print(hu_config_tree(config), &printed)) &&
        FUZZ_DONE(hu_yaml_parse(printed, strlen(printed), "resolved", &tree)) &&
        FUZZ_DONE(load(2, argv, &resumed)) && FUZZ_DONE(hu_config_merge(resumed, tree)))
        FUZZ_CHECK(hu_keys_equal(hu_config_tree(config), hu_config_tree(resumed)));
    hu_free(printed);
    hu_keys_free(tree);
    hu_config_free(resumed);
}

void fuzz_one(const uint8_t *data, size_t size) {
    static char program[] = "halfulp", verb[] = "train";
    char *text = fuzz_text(data, size), *rest = text, *word;
    char *argv[WORDS_MAX] = {program, verb};
    int argc = 2;
    hu_config *config;
    while (argc < WORDS_MAX && (word = strsep(&rest, "\n")))
        if (strncmp(word, "config=", 7) != 0) argv[argc++] = word; /* no files of this machine */
    hu_status st = load(argc, argv, &config);
    if (st == HU_OK) {
        check_values(config);
        check_resolved(config, argv);
        hu_config_free(config);
    } else {
        FUZZ_CHECK(config == NULL && hu_last_error()[0] != '\0');
        FUZZ_CHECK(st == HU_ERR_PARSE || st == HU_ERR_UNKNOWN || st == HU_ERR_CORRUPT ||
                   st == HU_ERR_ARGUMENT || fuzz_was_fault(st));
    }
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
        "data.augment=[]\nmodel="};
    return index < sizeof texts / sizeof *texts && fuzz_text_seed(texts[index], seed);
}
