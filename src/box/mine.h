/* box/mine.h - hard negative mining: the anchors without a box that a network takes for one. */
#ifndef HU_BOX_MINE_H
#define HU_BOX_MINE_H
#include <stdint.h>

/* Anchors without a box for each one that has one (Liu et al., 2.2 "Hard negative mining"). */
enum { HU_MINED_PER_MATCH = 3 };

/* A key that sorts first what has the larger loss, then what has the smaller index. loss >= 0 or
 * NaN, which comes before all numbers. */
uint64_t hu_mine_key(float loss, uint32_t index);

/* Of the keys [count], which it reorders, the anchors of the `wanted` smallest become HU_MINED in
 * match. They are the same whatever the order of the keys. */
void hu_mine(uint64_t *keys, int64_t count, int64_t wanted, int16_t *match);

/* A key that sorts first what has the smaller random word, then what has the smaller index: lots
 * that are drawn. hu_first_keys leaves the `wanted` smallest of keys [count] at its end, the very
 * smallest last; returns how many there are. */
uint64_t hu_lot_key(uint32_t word, uint32_t index);
int64_t hu_first_keys(uint64_t *keys, int64_t count, int64_t wanted);

#endif
