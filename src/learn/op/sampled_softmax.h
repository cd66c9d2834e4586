/* op/sampled_softmax.h - sampled softmax: a row is compared with its own class and with a few
 * others that are drawn for the whole batch (Jozefowicz et al. 2016; Bengio and Senecal 2003).
 *
 * log_uniform, of no input: [numbers] class numbers in ascending order, the same for all samples.
 * Number i is drawn from share (i + U_i) / numbers of the law of base/rng.h, duplicates
 * stay; U_i is word i of the node's key, in check runs (t(name, step x numbers + i) + 1) / 2.
 *
 * sampled_scores: rows [T, C], classes [T] and drawn ones [k] -> [T, 1 + k], the scores of each
 * row's own class and of the drawn ones, by a weight [classes, C] and a bias (product/gathered.h).
 *
 * sampled_cross_entropy: these scores, classes and drawn ones -> a loss, the cross entropy of the
 * first of 1 + k scores, each less the logarithm of how often its class is expected, k P(v). Drawn
 * classes that are a row's own take no part in it, nor rows whose class is ignored.
 */
#ifndef HU_OP_SAMPLED_SOFTMAX_H
#define HU_OP_SAMPLED_SOFTMAX_H
#include "op/op.h"

/* Of all three; each reads what it needs. */
typedef struct hu_sampled_attrs {
    int64_t classes, numbers;
    bool ignores; /* targets that are `ignored` */
    float ignored;
    hu_init weight_init, bias_init;
} hu_sampled_attrs;

#endif
