/* session/confusion_pairs.h - the classes that are confused most often. */
#ifndef HU_SESSION_CONFUSION_PAIRS_H
#define HU_SESSION_CONFUSION_PAIRS_H
#include "session/confusion.h"

/* Classes whose matrix is shown whole, and pairs that are shown of more. */
enum { HU_CONFUSION_SHOWN = 20 };

typedef struct hu_confused_pair {
    int64_t truth, said, samples;
} hu_confused_pair;

/* Up to `most` pairs of different classes, most samples first, of equal ones the first classes.
 * Returns how many. */
size_t hu_confused_pairs(const hu_confusion *confusion, hu_confused_pair *pair, size_t most);

#endif
