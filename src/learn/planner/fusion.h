/* planner/fusion.h - which nodes run in the same visits of the chunks.
 *
 * A region is a node that has a loop over the chunks of its own. While a region visits a chunk,
 * what lies around the node runs too, as long as the chunk is in the caches:
 *
 *   forward   lazy    a cheap node runs when a region reads its output, and not before
 *             taken   a bias runs right behind the product that makes its input, and stores its
 *                     own output in that one's stead: the backward pass need not make it again
 *             reduce  partial results of a batch norm are taken right behind who made its input,
 *                     those of the loss behind the loss
 *   backward  pulled  a batch norm turns the gradient of its output into that of its input when
 *                     the node that made this input asks for it; a bias behind a product sums its
 *                     own gradient then, and hands on what it was given
 *             pushed  a cheap node runs as soon as the last contribution to the gradient of its
 *                     output is there
 *             reduce  likewise partial results of a batch norm
 *
 * Every op's own functions run on the same chunks with the same numbers as without all this, every
 * value that has a format is rounded, and counted once: no bit changes. Values that nobody stores
 * are made again by every reader. Of several tensors that cannot be encoded another one may be the
 * first that a pass meets, and stops at.
 */
#ifndef HU_LAYOUT_FUSION_H
#define HU_LAYOUT_FUSION_H
#include "engine/internal.h"

/* Fills the joining fields of run->exec, is_virtual and is_remade. Slots must be ready. */
void hu_fuse_plan(hu_run *run);

#endif
