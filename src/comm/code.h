/* comm/code.h - gradients that travel as small integers times a unit, in place of a number format:
 * what a scaling with codes of its own (comm/scaling.h) does with numbers.
 *
 * A code is a whole number c, kept in memory as float32 and sent as two's complement in `bits`
 * bits; its number is c times a unit. Units are of two kinds:
 *
 *   agreed     one per layer, from what all workers agree upon: codes of all workers have it, and
 *              the code of a sum is the sum of the codes
 *   of blocks  every block of numbers of a piece has its own, sent before the codes as float32;
 *              owners add numbers in float32, and sums travel in float32
 *
 * A unit that is NaN makes numbers of NaN: so infinities and NaNs come through, whatever the code.
 * Blocks begin anew with every piece of a layer (comm/schedule.h), the last of a piece is shorter.
 */
#ifndef HU_COMM_CODE_H
#define HU_COMM_CODE_H
#include <halfulp/random.h>
#include <stddef.h>
#include <stdint.h>

#include "comm/scaling.h"

typedef struct hu_comm_options hu_comm_options; /* comm/plan.h */

/* Where sums of codes that are added on the way end. */
enum { HU_COMM_WHOLE_LEAST = -32768, HU_COMM_WHOLE_MOST = 32767 };

struct hu_comm_code {
    int32_t agreed_bytes; /* that a worker sends per layer before its numbers: 1, an exponent as in
                             comm/scaling.h; 4, a magnitude as bits of float32; 0, none */
    bool adds_on_way;     /* partial sums are codes of 16 bits, too */

    /* Bits of a code on the wire; is_sum: of a sum, 32 where that is a float32. */
    uint32_t (*bits)(const hu_comm_options *options, bool is_sum);

    /* Numbers of a block; NULL: units are agreed upon. */
    int64_t (*block)(const hu_comm_options *options);

    /* What becomes of a layer's gradient before anything is agreed upon; NULL: nothing. */
    void (*prepare)(const hu_comm_options *options, int64_t n, float *x);

    /* Unit of a layer from what all agreed upon (an exponent, or bits); of blocks: NULL. */
    float (*unit)(int32_t exponent, uint32_t top_bits);

    /* Unit of a block x[n]; where units are agreed upon: NULL. */
    float (*unit_of)(const hu_comm_options *options, int64_t n, const float *x);

    /* code[n] of x[n], whole numbers; unit > 0; word first + i of the key serves x[i]. */
    void (*encode)(const hu_comm_options *options, float unit, int64_t n, const float *x,
                   float *code, const hu_random_key *key, uint64_t first);
};

/* Whole numbers code[n] <-> two's complement of `bits` bits, the least significant bit first,
 * filled up to a whole byte. bits: 2..31. */
void hu_comm_pack_whole(uint32_t bits, int64_t n, const float *code, uint8_t *to);
void hu_comm_unpack_whole(uint32_t bits, int64_t n, const uint8_t *from, float *code);

/* One draw: floor(x) or the next whole number, which has the probability x - floor(x); x >= 0. */
float hu_comm_draw_whole(double x, uint32_t word);

#endif
