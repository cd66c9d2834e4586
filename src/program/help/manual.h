/* help/manual.h - what the program says of itself: help, man pages and completion, all made of
 * the tables of verbs, keys, models, data and formats. Texts are given, never printed.
 *
 *   verbs  the table of the program, NULL at the end
 *   text   owner frees with hu_free
 */
#ifndef HU_HELP_MANUAL_H
#define HU_HELP_MANUAL_H
#include "config/config.h"
#include "render/html.h"

/* ---- Verbs ---- */

enum { HU_VERB_EXAMPLES = 3 };

/* What somebody may type after `halfulp `, and what it does. RUN, DIR, FILE and IMAGE stand for
 * names of one's own. */
typedef struct hu_verb_example {
    const char *words, *what;
} hu_verb_example;

/* What a verb is for: groups of `halfulp --help`, in its order. */
typedef enum hu_verb_group {
    HU_VERBS_TRAIN,
    HU_VERBS_UNDERSTAND,
    HU_VERBS_COMPARE,
    HU_VERBS_USE,
    HU_VERBS_FORMATS,
    HU_VERBS_MACHINE,
    HU_VERB_GROUPS
} hu_verb_group;

/* One row of the table: what `halfulp NAME` is, and what it takes. */
typedef struct hu_verb {
    const char *name;
    hu_verb_group group;
    const char *help;         /* one line */
    const char *usage;        /* what follows the name: "NAME [--json]" */
    const char *details;      /* lines for `halfulp VERB --help`, each ended by \n; may be "" */
    const char *const *flags; /* NULL at the end; "json", or "round=" if it may have a value */
    int min_subjects, max_subjects;
    bool joins_others; /* processes of one launcher work together */

    /* Full names of the keys that it reads, NULL at the end; "lr.*": all that begin so,
     * "-comm.rho": this one not. NULL: none is known, and none is warned of. */
    const char *const *keys;
    bool refuses_others; /* run() fails where another key is given: none is warned of before */
    hu_verb_example examples[HU_VERB_EXAMPLES]; /* those that are not NULL */

    /* Does the work, stdout for the result. A failure is reported by its hu_status and message;
     * *exit_code (0 on entry) is for a verb that worked and found a failed check. The config may be
     * filled further (hu_config_set). */
    hu_status (*run)(hu_config *config, int *exit_code);
} hu_verb;

/* Keys of a training, for tables of keys. */
#define HU_TRAINING_KEYS                                                                           \
    "model.*", "task.*", "data.*", "precision.*", "bits.*", "cost.*", "accumulator.*",             \
        "operand.*", "init.*", "optimizer.*", "lr.*", "scaler.*", "eval.*", "stop.*", "run.*",     \
        "comm.*", "-comm.rho", "-comm.sigma", "-comm.magnitude", "-comm.run", "-comm.step",        \
        "-run.repeat", "-eval.checkpoint"

/* Whether the verb reads the key of this full name: by the last of its patterns that fits. false
 * where none is known. */
bool hu_verb_takes(const hu_verb *verb, const char *key);

/* ---- Pages ---- */

/* `halfulp` alone: the verbs, in fewer than 40 lines. */
hu_status hu_manual_short(const hu_verb *const *verbs, char **text);

/* `halfulp --help`: verbs, the common keys in a line each, examples, and where there is more, in
 * fewer than 70 lines. Long descriptions stand in hu_manual_help alone. */
hu_status hu_manual_overview(const hu_verb *const *verbs, char **text);

/* `halfulp VERB --help`: usage, what it does, its keys with the common ones first, examples. */
hu_status hu_manual_verb(const hu_verb *verb, char **text);

/* `halfulp help WORD`: a verb, a topic, a key, a group of keys, a model, a kind of data, or a word
 * of the library's tables or of the field. config: model.name and data.name are those at hand,
 * whose defaults are told of keys. HU_ERR_UNKNOWN names the nearest. */
hu_status hu_manual_help(const hu_verb *const *verbs, const char *word, const hu_config *config,
                         char **text);

/* A page for man(1), in the requests of man(7): of a verb, of the program with all keys if it is
 * NULL.
 *
 * Proof: tests/program/help_test.py, groff with all warnings. */
hu_status hu_manual_page(const hu_verb *const *verbs, const hu_verb *verb, char **text);

/* A script that completes verbs, the keys of each, known words of values, files and folders.
 *
 *   shell  "bash" (4 or later; needs no bash-completion), "zsh" or "fish"
 *
 * HU_ERR_UNKNOWN: another shell. Proof: tests/program/help_test.py, which asks bash. */
hu_status hu_manual_completion(const hu_verb *const *verbs, const char *shell, char **text);

/* ---- Topics of `halfulp help` ---- */

/* One topic of `halfulp help`: its word, what it is about in a line, and who writes it. A topic is
 * a table of the library as text, so that what is added to the library is in the help. */
typedef struct hu_topic {
    const char *name, *help;
    void (*put)(hu_page *page);
} hu_topic;

/* Row of the table in the order of the help; NULL after the last. Borrowed: forever. */
const hu_topic *hu_topic_at(size_t index);

#endif
