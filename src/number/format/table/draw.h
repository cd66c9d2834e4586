/* format/table/draw.h - what a random word decides between two neighbours, as integers. */
#ifndef HU_FORMAT_TABLE_DRAW_H
#define HU_FORMAT_TABLE_DRAW_H
#include <stdbool.h>
#include <stdint.h>

#include <halfulp/format.h>

/* A share r moves on iff factor < r 2^power, or equals it where it reaches. */
typedef struct hu_draw {
    uint64_t factor; /* at most 2^33 */
    uint32_t power;  /* at most 33 */
    bool reaches;
} hu_draw;

/* As hu_format_round has it: word / 2^32 < r; with N stated bits and T, the first N bits of the
 * word, T < floor(r 2^N) is T + 1 <= r 2^N, T < floor(r 2^N + 1/2) is T + 1/2 <= r 2^N, and of a
 * tie that goes to even the odd T moves on. */
static inline hu_draw hu_draw_of(hu_rounding rounding, uint32_t word) {
    const uint32_t bits = hu_rounding_bits(rounding);
    const hu_random_kind kind = hu_rounding_kind(rounding);
    if (bits == 0) return (hu_draw){word, 32, false};
    const uint64_t t = word >> (32 - bits);
    return (hu_draw){2 * t + (kind == HU_RANDOM_A ? 2 : 1), bits + 1,
                     kind != HU_RANDOM_C || (t & 1) != 0};
}

#endif
