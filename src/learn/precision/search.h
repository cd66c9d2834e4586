/* precision/search.h - candidates of a search: sets of groups that are low, made by going through
 * the groups in several orders until a budget is met. Nothing is trained here.
 */
#ifndef HU_PRECISION_SEARCH_H
#define HU_PRECISION_SEARCH_H
#include "precision/precision.h"

/* What is known of every group before the search. */
typedef struct hu_search_groups {
    hu_tensor_groups tensors;
    int64_t *saved; /* [tensors.count] bits that the group takes less when it is low */
    /* What is expected to be promoted out of a low group, and so to be high all the same. */
    bool *is_promoted; /* [value_count] */
    int64_t *raised;   /* [value_count] bits that a forward tensor takes more when it is promoted */
    int64_t *promoted; /* [tensors.count] bits of `saved` that promotions take back */
    /* [tensors.count] each: what training loses if the group is low; of sets the sum; all 0:
     * unknown. */
    double *loss;      /* error of the gradient, as it was measured */
    double *direction; /* error of the whole update */
    double *rounding;  /* as histograms tell it, 0..1 */
    double *trained;   /* what short trainings lost clearly */
    int64_t all_high;  /* bits with every group high */
    int64_t all_plain; /* 32 bits for every element */
} hu_search_groups;

/* Ways through the groups. */
typedef enum hu_search_order {
    HU_SEARCH_SIZE,      /* largest first: plain demotion */
    HU_SEARCH_LOSS,      /* the least loss for a saved bit first */
    HU_SEARCH_DIRECTION, /* the least error of the update for a saved bit first */
    HU_SEARCH_ROUNDING,  /* the least rounding error for a saved bit first */
    HU_SEARCH_TRAINED,   /* the least loss of short trainings for a saved bit first */
    HU_SEARCH_TRADE,     /* largest first, the quarter with the most loss last */
    HU_SEARCH_ENDS,   /* largest first, what the first and the last product read and write last */
    HU_SEARCH_RANDOM, /* drawn */
    HU_SEARCH_ORDERS
} hu_search_order;

/* "size", "loss", ... */
const char *hu_search_order_name(hu_search_order order);

/* Bits of all groups with both candidates of the precision, which must be of the kind "high".
 * Owner frees. */
hu_status hu_search_groups_create(const hu_precision *precision, const hu_graph *graph,
                                  int64_t batch, hu_search_groups *groups);
void hu_search_groups_free(hu_search_groups *groups);

/* Judges trainings of a few steps with one group low each. loss [seeds][1 + tensors.count]: of the
 * validation samples, first with everything high; NaN: diverged. Gives groups.trained, cost
 * [tensors.count] (what a group loses beside everything high, mean over the seeds; NaN: diverged
 * with one of them, or everything high with all), and the standard error of a cost. A cost that is
 * not twice as large counts as nothing, so that chance does not order groups; nor does any where
 * everything high diverged. NaN: not known; all costs count. */
double hu_search_judge_short(const double *loss, size_t seeds, hu_search_groups *groups,
                             double *cost);

/* Expects that a value of the graph is promoted whenever its group is low. */
void hu_search_promote(hu_search_groups *groups, hu_value_id value);

/* Bits with these groups low: before promotions, or with those that are expected. */
int64_t hu_search_bits(const hu_search_groups *groups, const bool *low, bool promotes);

/* Marks groups low in the order until the bits, expected promotions included, are at most `most`,
 * then, if trims, takes back those that are not needed for it, first the one that loses most by
 * what the order goes by, or by `loss`.
 * Groups that save nothing then stay high, but in plain demotion (by size, not trimmed). low:
 * [tensors.count] room. Gives the bits that are left, which exceed `most` where even all groups low
 * do not meet it. seed: of a random order. HU_ERR_MEMORY. */
hu_status hu_search_fill(const hu_search_groups *groups, hu_search_order order, uint64_t seed,
                         int64_t most, bool trims, bool *low, int64_t *bits);

#endif
