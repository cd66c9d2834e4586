/* halfulp help, man, completion: what the program says of itself (room manual). */
#include <string.h>

#include "base/error.h"
#include "cli/verb.h"
#include "help/manual.h"
#include "render/table.h"

static const char *const no_flags[] = {NULL};

/* What `help data=folder` asks about: the value where it is all that was typed. */
static const char *typed_value(const hu_config *config) {
    static const char *const keys[] = {"data.name", "model.name"};
    const char *value = NULL;
    for (size_t i = 0; !value && i < sizeof keys / sizeof *keys; i++)
        if (hu_config_asked(config, keys[i])) hu_config_text(config, keys[i], &value);
    return value;
}

/* Without a word the same as `halfulp --help`. */
static hu_status run_help(hu_config *config, int *exit_code) {
    char *text = NULL;
    const char *word = hu_config_subject(config, 0);
    (void)exit_code;
    if (!word) word = typed_value(config);
    hu_status st =
        word ? hu_manual_help(hu_verbs, word, config, &text) : hu_manual_overview(hu_verbs, &text);
    return hu_show_text(st, text);
}

/* The page of a verb, or of the whole program; cmake writes what they print where man looks. */
static hu_status run_man(hu_config *config, int *exit_code) {
    char *text = NULL;
    const char *word = hu_config_subject(config, 0);
    const hu_verb *verb = NULL;
    (void)exit_code;
    for (size_t i = 0; word && hu_verbs[i]; i++)
        if (strcmp(hu_verbs[i]->name, word) == 0) verb = hu_verbs[i];
    if (word && !verb && strcmp(word, "halfulp") != 0)
        return hu_fail(HU_ERR_UNKNOWN, "man: found '%.100s', expected a verb, halfulp or nothing",
                       word);
    hu_status st = hu_manual_page(hu_verbs, verb, &text);
    return hu_show_text(st, text);
}

/* The shell is the one word. */
static hu_status run_completion(hu_config *config, int *exit_code) {
    char *text = NULL;
    (void)exit_code;
    hu_status st = hu_manual_completion(hu_verbs, hu_config_subject(config, 0), &text);
    return hu_show_text(st, text);
}

/* Which defaults are told: those of a model with data and an optimizer. */
static const char *const help_keys[] = {"model.name", "data.name", "optimizer.name", NULL};
static const char *const no_keys[] = {NULL};

const hu_verb hu_verb_help = {
    .name = "help",
    .group = HU_VERBS_MACHINE,
    .help = "tell of a verb, a key, a group of keys, a model, data, a format or a topic",
    .usage = "[VERB|KEY|GROUP.*|MODEL|data=KIND|FORMAT|TOPIC|WORD] [model=NAME] [data=NAME]",
    .details =
        "Topics: models data runs formats precisions accumulators tasks losses optimizers\n"
        "schedules keys exit-codes. WORD: also a precision, an accumulator, a rounding mode, a\n"
        "value of a key, or a word of the field such as arena or stalled. Of data=KIND: how its "
        "files must lie. Of a key: its values, its\n"
        "default, who reads it, and the default of the model at hand (model=NAME data=NAME).\n",
    .flags = no_flags,
    .max_subjects = 1,
    .keys = help_keys,
    .examples = {{"help lr model=resnet20", "what the learning rate is, and that of resnet20"},
                 {"help data=folder", "how pictures of one's own must lie"},
                 {"help scaler.*", "all keys of loss scaling"}},
    .run = run_help,
};

const hu_verb hu_verb_man = {
    .name = "man",
    .group = HU_VERBS_MACHINE,
    .help = "print a manual page for man(1)",
    .usage = "[VERB]",
    .details = "",
    .flags = no_flags,
    .max_subjects = 1,
    .keys = no_keys,
    .examples = {{"man train > halfulp-train.1", "the page of a verb, for `man ./halfulp-train.1`"},
                 {"man", "that of the program, with all keys"}},
    .run = run_man,
};

const hu_verb hu_verb_completion = {
    .name = "completion",
    .group = HU_VERBS_MACHINE,
    .help = "print a script that completes words in a shell",
    .usage = "bash|zsh|fish",
    .details = "",
    .flags = no_flags,
    .min_subjects = 1,
    .max_subjects = 1,
    .keys = no_keys,
    .examples = {{"completion bash > halfulp.bash",
                  "then `. ./halfulp.bash`; an installed halfulp has it"},
                 {"completion fish", "the same for fish"}},
    .run = run_completion,
};
