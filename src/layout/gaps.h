/* layout/gaps.h - codes that are narrower than the places that they lie in. */
#ifndef HU_LAYOUT_GAPS_H
#define HU_LAYOUT_GAPS_H
#include "engine/run.h"

/* "activations of 6 bits lie in 8 each, of 12 bits lie in 16 each", by number of bits; "" where
 * there are no such codes. Gives text. */
enum { HU_GAPS_BYTES = 160 };
const char *hu_gaps_words(const hu_run *run, char text[HU_GAPS_BYTES]);

/* What helps. */
#define HU_GAPS_ADVICE "storage=dense leaves no gaps"

#endif
