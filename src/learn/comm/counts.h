/* comm/counts.h - what a reduction does to numbers. */
#ifndef HU_COMM_COUNTS_H
#define HU_COMM_COUNTS_H
#include <halfulp/round.h>

/* The roundings whose losses are fed back: of gradients and partial sums, of an owner's sum, of an
 * owner's sum of sums. */
enum { HU_COMM_LOSSES = 3 };

/* What one step did to the numbers of a layer, at one worker. Exponents are those of the numbers as
 * they are sent, x 2^-k (comm/scaling.h): these are what the format holds or loses. */
typedef struct hu_comm_counts {
    hu_round_counts rounded; /* gradients into the format of the wire */
    hu_round_counts added;   /* sums into it */
} hu_comm_counts;

#endif
