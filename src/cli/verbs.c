/* cli/verbs.c - the table of verbs: one row for each line of HU_VERB_LIST. */
#include "cli/verb.h"

const hu_verb *const hu_verbs[] = {
#define HU_VERB_ROW(name) &hu_verb_##name,
    HU_VERB_LIST(HU_VERB_ROW)
#undef HU_VERB_ROW
        NULL};
