/* cli/verb.h - the table of verbs. A verb is one file verb_<name>.c and one line here. */
#ifndef HU_CLI_VERB_H
#define HU_CLI_VERB_H
#include "manual/verb.h"

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
    X(stats)                                                                                       \
    X(help)                                                                                        \
    X(man)                                                                                         \
    X(completion)

#define HU_VERB_DECLARE(name) extern const hu_verb hu_verb_##name;
HU_VERB_LIST(HU_VERB_DECLARE)
#undef HU_VERB_DECLARE

/* The verbs in the order of the help, NULL at the end. */
extern const hu_verb *const hu_verbs[];

#endif
