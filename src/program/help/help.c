/* What `halfulp`, `halfulp --help` and `halfulp help WORD` say. */
#include <stdio.h>
#include <string.h>

#include <halfulp/data.h>

#include "base/error.h"
#include "base/text.h"
#include "help/internal.h"
#include "help/manual.h"
#include "model/model.h"
#include "settings/options.h"

/* ---- data layouts ---- */

/* Files in lines of their own, then commands. Kinds that need no files have a command alone. */
typedef struct layout {
    const char *kind, *files, *examples;
} layout;

static const layout layouts[] = {
    {"fashion-mnist",
     "  four files *-ubyte.gz in /usr/share/datasets/fashion-mnist (Debian's\n"
     "  dataset-fashion-mnist), or in fashion-mnist/ of the folder HALFULP_DATA\n",
     "  halfulp train model=cnn-s data=fashion-mnist\n"},
    {"idx",
     "  DIR/train-images-idx3-ubyte   pictures, plain or .gz (or train-images.idx3-ubyte)\n"
     "  DIR/train-labels-idx1-ubyte   their classes\n"
     "  DIR/t10k-...                  the same of two files to test with (or test-...)\n"
     "  DIR/classes.txt               a name in each line, where classes have names\n",
     "  halfulp train model=cnn-s data=idx:DIR\n"},
    {"cifar10", "  DIR/data_batch_1.bin ... data_batch_5.bin, test_batch.bin: the binary version\n",
     "  halfulp train model=resnet20 data=cifar10:DIR\n"},
    {"cifar100", "  DIR/train.bin, test.bin: the binary version\n",
     "  halfulp train model=resnet20 data=cifar100:DIR\n"},
    {"glyphs", "", "  halfulp train model=cnn-s data=glyphs epochs=1\n"},
    {"contacts", "", "  halfulp train model=cvae-s data=contacts\n"},
    {"scenes", "", "  halfulp train model=ssd-s data=scenes epochs=4\n"},
    {"tones", "", "  halfulp train model=ds2-s data=tones epochs=4\n"},
    {"grammar", "", "  halfulp train model=transformer-lm-s data=grammar epochs=0.5\n"},
    {"folder",
     "  DIR/train/CLASS/*.jpg   (.jpeg, .jfif, .png, .webp) a folder for each class\n"
     "  DIR/val/CLASS/*.jpg     to test with (or test/CLASS)\n"
     "or all in one, of which data.validation=0.2 draws a fifth of each class to test with:\n"
     "  DIR/CLASS/*.jpg\n",
     "  halfulp train model=cnn-s data=folder:DIR data.validation=0.2 batch=16 epochs=40\n"
     "  halfulp train model=shufflenet-v2 data=folder:DIR data.size=72 data.crop=64\n"
     "  halfulp predict RUN A.jpg FOLDER\n"},
    {"dense",
     "  DIR/train/NAME.jpg          (or .png) pictures\n"
     "  DIR/trainannot/NAME.png     their label maps: grey or with a palette, byte = class\n"
     "                              (data.labels=[0,255]: of black and white maps)\n"
     "  DIR/test, DIR/testannot     the same to test with (or val, valannot)\n"
     "  DIR/classes.txt             a name in each line, where classes have names\n",
     "  halfulp train model=fcn-s data=dense:DIR data.unlabelled=11\n"},
    {"boxes",
     "  DIR/ImageSets/Main/train.txt   names; test.txt (or val.txt) of those to test with\n"
     "  DIR/JPEGImages/NAME.jpg        (.jpeg, .png) pictures\n"
     "  DIR/Annotations/NAME.xml       their boxes, as PASCAL VOC has them\n",
     "  halfulp train model=ssd-s data=boxes:DIR data.size=120\n"},
    {"pairs",
     "  DIR/train/*.png   (.jpg, .jpeg) large pictures; small ones are made of them\n"
     "  DIR/test/*.png    to test with (or val), all of one size\n",
     "  halfulp train model=pan-s data=pairs:DIR data.scale=4\n"},
    {"speech",
     "  DIR/train/NAME.wav          or .flac, .ogg and others\n"
     "  DIR/train/transcripts.txt   a line for each: NAME, a tab, what is said\n"
     "  DIR/test/...                the same to test with (or val)\n",
     "  halfulp train model=ds2-s data=speech:DIR\n"},
    {"sounds",
     "  DIR/train/CLASS/NAME.wav   or .flac, .ogg and others; a folder for each class\n"
     "  DIR/val/CLASS/...          the same to test with (or test); without train and val:\n"
     "  DIR/CLASS/NAME.wav         data.validation=0.2 draws some to test with\n",
     "  halfulp train model=cnn-s data=sounds:DIR\n"},
    {"text", "  FILE   a text; its last tenth is to test with, or data.valid=OTHER\n",
     "  halfulp train model=lstm-lm-s data=text:FILE data.unit=word data.min_count=3\n"},
    {"parallel",
     "  DIR/train.LANG   a sentence in each line, the same one in both languages; .gz too\n"
     "  DIR/test.LANG    to test with (or val.LANG, or data.test=NAME)\n",
     "  halfulp train model=seq2seq-s data=parallel:DIR data.source=en data.target=fr\n"},
    {"segments",
     "  FILE   a text; lines as \" = heading = \" end a document. Its last tenth is to test\n"
     "         with, or data.valid=OTHER\n",
     "  halfulp train model=bert-tiny-s data=segments:FILE data.min_count=3\n"},
    {"ink", "  SPEC   data of grey pictures: fashion-mnist, idx:DIR\n",
     "  halfulp train model=dense-s data=ink:fashion-mnist\n"},
};

/* Row of the library's table whose name the word has before its colon; NULL: none. */
static const char *find_kind(const char *word, const char **help) {
    size_t length = strcspn(word, ":");
    const char *name;
    for (size_t i = 0; (name = hu_data_kind_name(i)) != NULL; i++) {
        *help = hu_data_kind_help(i);
        if (strcspn(name, ":") == length && strncmp(name, word, length) == 0) return name;
    }
    return NULL;
}

/* Whether a word names a kind of data: "folder", "folder:DIR". */
static bool hu_is_data_kind(const char *word) {
    const char *help;
    return find_kind(word, &help) != NULL;
}

/* Kinds of data by their names, without what stands after the colon; NULL after the last.
 * Borrowed: forever. */
static const char *hu_data_kind_word(size_t index) {
    return index < sizeof layouts / sizeof *layouts ? layouts[index].kind : NULL;
}

/* What the kind of such a word is, how its files lie, and trainings on it. Nothing for others. */
static void hu_put_data_kind(hu_page *page, const char *word) {
    enum { INDENT = 2 };
    const char *help, *name = find_kind(word, &help);
    if (!name) return;
    hu_page_put(page, "data=%s\n%*s", name, INDENT, "");
    hu_put_wrapped(page, help, INDENT, INDENT);
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        const layout *l = &layouts[i];
        if (strlen(l->kind) != strcspn(name, ":") || strncmp(l->kind, name, strlen(l->kind)) != 0)
            continue;
        hu_page_put(page, "%s%s", *l->files ? "\nfiles:\n" : "", l->files);
        hu_page_put(page, "\nexamples:\n%s", l->examples);
    }
    if (strchr(name, ':'))
        hu_page_put(page, "\nA relative path begins where halfulp is started. `halfulp help "
                          "'data.*'` tells of all keys,\n`halfulp help data` of the other kinds; "
                          "docs/reference/data-*.md have every detail.\n");
}

void hu_put_runs(hu_page *page) {
    hu_page_put(
        page,
        "A training leaves a folder, RUN: run.dir=RUN, or a new one below runs/, which its last\n"
        "lines name. In it:\n\n"
        "  checkpoint/            the newest states; best/ that of the best evaluation\n"
        "  config.resolved.yaml   all keys: config=FILE run.dir=NEW trains the same again\n"
        "  metrics.csv            loss, rate, speed and metrics by step\n"
        "  progress.jsonl         what happened, as it happens\n"
        "  numerics.jsonl         what rounding did to every tensor\n"
        "  histograms.jsonl       exponents of every tensor's numbers\n"
        "  plan.resolved.yaml     how every tensor is rounded: precision=FILE takes it\n"
        "  classes.txt            names of classes, vocabulary.txt of words\n"
        "  report.html            pictures of the run\n"
        "  result.json            what it came to; not there while it runs\n\n"
        "Read by:\n\n"
        "  halfulp resume RUN           goes on, to the same bits (epochs=N: further)\n"
        "  halfulp watch RUN            follows it while it runs\n"
        "  halfulp list                 all runs below runs/; list FOLDER\n"
        "  halfulp predict RUN [FILE]   what it says of test samples, or of files\n"
        "  halfulp eval RUN             metrics, classes taken for each other\n"
        "  halfulp export RUN           weights for PyTorch\n"
        "  halfulp why RUN              which tensor its numbers died in, and what to try\n"
        "  halfulp stats RUN            which range its numbers needed\n"
        "  halfulp report RUN...        one page of several runs\n\n"
        "predict and eval read the run's data again; data=KIND:PATH says where they are now.\n"
        "predict with files, export, why, stats, list, watch and report need the folder alone.\n"
        "docs/reference/run-folder.md tells of every file, column by column.\n");
}

/* ---- help ---- */

enum { NEAREST_BYTES = 256, NAMES_MOST = 1024 };

/* Name and version, usage, and a line for each verb, by group. */
static void put_verbs(hu_page *page, const hu_verb *const *verbs) {
    static const char *const titles[HU_VERB_GROUPS] = {
        [HU_VERBS_TRAIN] = "train",     [HU_VERBS_UNDERSTAND] = "understand a training",
        [HU_VERBS_COMPARE] = "compare", [HU_VERBS_USE] = "use a model",
        [HU_VERBS_FORMATS] = "formats", [HU_VERBS_MACHINE] = "this machine, and help"};
    hu_page_put(page, "halfulp " HALFULP_VERSION
                      ": trains neural networks in number formats that no hardware has yet\n"
                      "usage: halfulp VERB [key=value ...] [--json]\n");
    for (int group = 0; group < HU_VERB_GROUPS; group++) {
        hu_page_put(page, "\n%s:\n", titles[group]);
        for (const hu_verb *const *verb = verbs; *verb; verb++)
            if ((int)(*verb)->group == group)
                hu_page_put(page, "  %-11s %s\n", (*verb)->name, (*verb)->help);
    }
}

hu_status hu_manual_short(const hu_verb *const *verbs, char **text) {
    hu_page page = {.status = HU_OK};
    put_verbs(&page, verbs);
    hu_page_put(&page, "\nhalfulp --help shows keys and examples, halfulp VERB --help tells of a "
                       "verb.\n");
    return hu_page_finish(&page, text);
}

hu_status hu_manual_overview(const hu_verb *const *verbs, char **text) {
    hu_page page = {.status = HU_OK};
    put_verbs(&page, verbs);
    hu_page_put(&page, "\ncommon keys (`halfulp help keys`: all of them; config=FILE reads them "
                       "from YAML):\n");
    for (size_t i = 0; hu_common_key_at(i); i++) hu_put_key_line(&page, hu_common_key_at(i));
    hu_page_put(
        &page,
        "\nexamples:\n"
        "  halfulp train data=glyphs epochs=1\n"
        "  halfulp train model=resnet20 data=cifar10:DIR precision=hfp8\n"
        "  halfulp compare precision=fp32,1/6/9,hfp8 seeds=1,2 data=glyphs epochs=1\n"
        "  halfulp fmt e4m3\n"
        "\nhalfulp help WORD tells of a verb, a key, a model, a group of keys (lr.*), or of");
    char names[512] = "";
    for (size_t i = 0, used = 0; hu_topic_at(i) && used < sizeof names; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? " " : "",
                                 hu_topic_at(i)->name);
    hu_page_put(&page, "\n  ");
    hu_put_wrapped(&page, names, 2, 2);
    hu_page_put(&page, "Exit codes: 0 ok, 1 failed check, 2 usage, 3 data, 4 numerics, "
                       "5 resources, 6 peer lost,\n130 interrupted\n");
    return hu_page_finish(&page, text);
}

/* The rows of the tables by their names; NULL: none. */
static const hu_verb *find_verb(const hu_verb *const *verbs, const char *name) {
    for (; *verbs; verbs++)
        if (strcmp((*verbs)->name, name) == 0) return *verbs;
    return NULL;
}

/* By its whole name: topics are few, and are listed by the help. */
static const hu_topic *find_topic(const char *name) {
    for (size_t i = 0; hu_topic_at(i); i++)
        if (strcmp(hu_topic_at(i)->name, name) == 0) return hu_topic_at(i);
    return NULL;
}

/* "lr", "lr." and "lr.*" name the group. */
static const hu_key_group *find_group(const char *word) {
    for (size_t i = 0; hu_key_group_at(i); i++) {
        size_t length = strlen(hu_key_group_at(i)->name);
        if (strncmp(word, hu_key_group_at(i)->name, length) != 0) continue;
        const char *rest = word + length;
        if (!*rest || strcmp(rest, ".") == 0 || strcmp(rest, ".*") == 0) return hu_key_group_at(i);
    }
    return NULL;
}

/* All keys of a group, with values and defaults. */
static void put_group(hu_page *page, const hu_key_group *group) {
    hu_page_put(page, "keys %s.*: %s\n\n", group->name, group->title);
    for (size_t i = 0; i < hu_config_key_count; i++)
        if (hu_key_is_of(&hu_config_keys[i], group)) hu_put_key(page, &hu_config_keys[i]);
}

/* Beside a key that has the name of its group: what else there is. */
static void put_names(hu_page *page, const hu_key_group *group) {
    char line[4096] = "";
    size_t used = 0;
    for (size_t i = 0; i < hu_config_key_count; i++)
        if (hu_key_is_of(&hu_config_keys[i], group) && used < sizeof line)
            used += (size_t)snprintf(line + used, sizeof line - used, " %s",
                                     hu_key_typed_name(&hu_config_keys[i]));
    hu_page_put(page, "\nkeys of the group, `halfulp help '%s.*'` tells of them:\n  ", group->name);
    hu_put_wrapped(page, line, 2, 2);
}

static const hu_model *find_model(const char *name) {
    for (int i = 0; i < hu_model_count; i++)
        if (strcmp(hu_model_table[i].name, name) == 0) return &hu_model_table[i];
    return NULL;
}

/* The model, and what it is usually trained with. */
static hu_status put_model(hu_page *page, const hu_model *model, const hu_config *asked) {
    static const char *const keys[] = {
        "run.batch",   "run.epochs", "optimizer.name",        "lr.base",
        "lr.schedule", "lr.warmup",  "optimizer.weight_decay"};
    hu_status st;
    hu_config *config = NULL;
    const char *value;
    hu_page_put(page, "%s: %s\n  task %s\n  usually", model->name, model->help, model->task);
    HU_TRY(hu_options_copy(asked, &config));
    HU_TRY(hu_config_replace(config, "model.name", model->name, "help"));
    HU_TRY(hu_recipe_apply(config));
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const hu_config_key *key = hu_config_key_find(keys[i]);
        HU_TRY(hu_config_text(config, keys[i], &value));
        hu_page_put(page, " %s=%s", hu_key_typed_name(key), value);
    }
    hu_page_put(page, "\n`halfulp plan model=%s` tells its layers, bytes and operations.\n",
                model->name);
done:
    hu_config_free(config);
    return st;
}

/* HU_ERR_UNKNOWN with the nearest of all words that are known. */
static hu_status unknown_word(const hu_verb *const *verbs, const char *word) {
    const char *names[NAMES_MOST];
    char nearest[NEAREST_BYTES];
    size_t count = 0;
    for (; *verbs && count < NAMES_MOST; verbs++) names[count++] = (*verbs)->name;
    for (size_t i = 0; hu_topic_at(i) && count < NAMES_MOST; i++)
        names[count++] = hu_topic_at(i)->name;
    for (size_t i = 0; i < hu_config_key_count && count + 1 < NAMES_MOST; i++) {
        names[count++] = hu_config_keys[i].name;
        if (*hu_config_keys[i].short_form) names[count++] = hu_config_keys[i].short_form;
    }
    for (int i = 0; i < hu_model_count && count < NAMES_MOST; i++)
        names[count++] = hu_model_table[i].name;
    for (size_t i = 0; hu_data_kind_word(i) && count < NAMES_MOST; i++)
        names[count++] = hu_data_kind_word(i);
    for (size_t i = 0; hu_word_at(i) && count < NAMES_MOST; i++) names[count++] = hu_word_at(i);
    hu_nearest(word, names, count, nearest, sizeof nearest);
    return hu_fail(HU_ERR_UNKNOWN,
                   "help: found '%.100s', expected a verb, key, model, kind of data, topic, format "
                   "or a word of theirs; nearest: %s",
                   word, nearest);
}

hu_status hu_manual_help(const hu_verb *const *verbs, const char *word, const hu_config *config,
                         char **text) {
    hu_status st = HU_OK;
    hu_page page = {.status = HU_OK};
    const hu_verb *verb = find_verb(verbs, word);
    const hu_topic *topic = find_topic(word);
    const hu_config_key *key = hu_config_key_find(word);
    const hu_key_group *group = find_group(word);
    const hu_model *model = find_model(word);
    bool is_data = hu_is_data_kind(word);
    *text = NULL;
    if (verb) return hu_manual_verb(verb, text);
    bool is_known = topic || key || group || model || is_data;
    if (!is_known && !hu_put_word(&page, word, false)) return unknown_word(verbs, word);
    if (topic) topic->put(&page);
    hu_put_data_kind(&page, word);
    if ((topic || is_data) && key) hu_page_put(&page, "\n");
    if (key) HU_TRY(hu_put_key_fully(&page, verbs, key, config));
    if (key && strcmp(key->name, "accumulator.name") == 0) {
        hu_page_put(&page, "\n");
        hu_put_accumulators(&page);
    }
    if (group && key) put_names(&page, group);
    if (group && !key) put_group(&page, group);
    if (model) HU_TRY(put_model(&page, model, config));
    if (is_known) hu_put_word(&page, word, true);
done:
    if (st == HU_OK) return hu_page_finish(&page, text);
    hu_page_free(&page);
    return st;
}
