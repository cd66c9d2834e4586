/* cli/verb.h - the table of verbs. A verb is one file verb_<name>.c and one line here. */
#ifndef HU_CLI_VERB_H
#define HU_CLI_VERB_H
#include "help/manual.h"

/* X(name): const hu_verb hu_verb_<name>, by group, in the order of the help. */
#define HU_VERB_LIST(X)                                                                            \
    X(demo)                                                                                        \
    X(train)                                                                                       \
    X(resume)                                                                                      \
    X(watch)                                                                                       \
    X(list)                                                                                        \
    X(why)                                                                                         \
    X(stats)                                                                                       \
    X(report)                                                                                      \
    X(compare)                                                                                     \
    X(assign)                                                                                      \
    X(score)                                                                                       \
    X(model)                                                                                       \
    X(plan)                                                                                        \
    X(predict)                                                                                     \
    X(eval)                                                                                        \
    X(export)                                                                                      \
    X(fmt)                                                                                         \
    X(gemm)                                                                                        \
    X(comm)                                                                                        \
    X(doctor)                                                                                      \
    X(bench)                                                                                       \
    X(help)                                                                                        \
    X(man)                                                                                         \
    X(completion)

#define HU_VERB_DECLARE(name) extern const hu_verb hu_verb_##name;
HU_VERB_LIST(HU_VERB_DECLARE)
#undef HU_VERB_DECLARE

/* The verbs in the order of the help, NULL at the end. */
extern const hu_verb *const hu_verbs[];

#endif
