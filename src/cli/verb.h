/* cli/verb.h - the table of verbs. A verb is one file verb_<name>.c and one line here. */
#ifndef HU_CLI_VERB_H
#define HU_CLI_VERB_H
#include "config/config.h"

/* One row of the table: what `halfulp NAME` is, and what it takes. */
typedef struct hu_verb {
    const char *name;
    const char *help;         /* one line */
    const char *usage;        /* what follows the name: "NAME [--json]" */
    const char *details;      /* lines for `halfulp VERB --help`, each ended by \n; may be "" */
    const char *const *flags; /* NULL at the end; "json", or "round=" if it may have a value */
    int min_subjects, max_subjects;
    bool joins_others; /* processes of one launcher work together */

    /* Does the work, stdout for the result. A failure is reported by its hu_status and message;
     * *exit_code (0 on entry) is for a verb that worked and found a failed check. The config may be
     * filled further (hu_config_set). */
    hu_status (*run)(hu_config *config, int *exit_code);
} hu_verb;

/* X(name): const hu_verb hu_verb_<name>, in the order of the help. */
#define HU_VERB_LIST(X)                                                                            \
    X(demo)                                                                                        \
    X(fmt)                                                                                         \
    X(train)                                                                                       \
    X(eval)                                                                                        \
    X(resume)                                                                                      \
    X(watch)                                                                                       \
    X(list)                                                                                        \
    X(predict)                                                                                     \
    X(export)                                                                                      \
    X(doctor)                                                                                      \
    X(bench)                                                                                       \
    X(gemm)                                                                                        \
    X(comm)                                                                                        \
    X(plan)                                                                                        \
    X(compare)                                                                                     \
    X(assign)                                                                                      \
    X(report)                                                                                      \
    X(why)                                                                                         \
    X(stats)

#define HU_VERB_DECLARE(name) extern const hu_verb hu_verb_##name;
HU_VERB_LIST(HU_VERB_DECLARE)
#undef HU_VERB_DECLARE

#endif
