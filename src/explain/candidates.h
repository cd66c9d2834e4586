/* explain/candidates.h - the formats that stats and why try on the histograms of a run. */
#ifndef HU_EXPLAIN_CANDIDATES_H
#define HU_EXPLAIN_CANDIDATES_H
#include <halfulp/format.h>

enum { HU_CANDIDATES_MOST = 32, HU_CANDIDATE_BYTES = 80 };

typedef struct hu_candidates {
    char name[HU_CANDIDATES_MOST][HU_CANDIDATE_BYTES]; /* as they were given */
    hu_format format[HU_CANDIDATES_MOST];
    int count;
} hu_candidates;

/* Reads format names separated by commas (those inside of brackets belong to the names). Errors of
 * hu_format_parse; HU_ERR_LIMIT. */
hu_status hu_candidates_parse(const char *text, hu_candidates *candidates);

#endif
