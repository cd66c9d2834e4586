/* help/verb.h - what a verb of the program is: its words, its help, its function. */
#ifndef HU_MANUAL_VERB_H
#define HU_MANUAL_VERB_H
#include "config/config.h"

enum { HU_VERB_EXAMPLES = 3 };

/* What somebody may type behind `halfulp `, and what it does. RUN, DIR, FILE and IMAGE stand for
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
    "model.*", "task.*", "data.*", "precision.*", "bits.*", "cost.*", "accumulator.*", "init.*",   \
        "optimizer.*", "lr.*", "scaler.*", "eval.*", "stop.*", "run.*", "comm.*", "-comm.rho",     \
        "-comm.sigma", "-comm.magnitude", "-comm.run", "-comm.step", "-run.repeat",                \
        "-eval.checkpoint"

/* Whether the verb reads the key of this full name: by the last of its patterns that fits. false
 * where none is known. */
bool hu_verb_takes(const hu_verb *verb, const char *key);

#endif
