/* data/draws.h - the random numbers of one sample that is drawn, taken one after the other. */
#ifndef HU_DATA_DRAWS_H
#define HU_DATA_DRAWS_H
#include "base/rng.h"

typedef struct hu_draws {
    hu_random_key key;
    uint64_t next;
} hu_draws;

/* least..most */
static inline int hu_draw_whole(hu_draws *d, int least, int most) {
    return least + (int)hu_random_below(&d->key, d->next++, (uint64_t)(most - least + 1));
}

/* Uniform in [low, high). */
static inline float hu_draw_between(hu_draws *d, float low, float high) {
    return low + (high - low) * hu_random_uniform(&d->key, d->next++);
}

#endif
