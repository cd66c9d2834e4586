/* format/table/slots.h - a table and a rounding mode as a step function of the bits of a float32,
 * for kernels.
 *
 * Magnitudes of positive and of negative numbers ascend from 0 in two lists of slots; x lies in the
 * slot that as many thresholds of its list are at most |x|, as bits. The last slot of a list is
 * overflow. Stochastic rounding has the slot of the neighbour nearer to 0: it may move to the next
 * one. The lists stand one behind the other.
 *
 * How a slot is found, from the fastest to the slowest:
 *   DIRECT   word[x >> shift] is slot << shift | t; one more if the low `shift` bits exceed t
 *   INDEXED  row[x >> 23] is first << 5 | s; at = first + (fraction >> s): slot_at[at], one more if
 *            |x| >= threshold_at[at]
 *   SEARCH   binary search of the thresholds */
#ifndef HU_FORMAT_TABLE_SLOTS_H
#define HU_FORMAT_TABLE_SLOTS_H
#include "format/table/table.h"

enum { HU_MEMBER_ASK = 0x8000 };

typedef struct hu_code_bytes hu_code_bytes;

typedef enum hu_step_route { HU_STEPS_DIRECT, HU_STEPS_INDEXED, HU_STEPS_SEARCH } hu_step_route;

/* Bits of magnitudes are those of the numbers without a scale. */
struct hu_code_steps {
    hu_step_route route;
    uint32_t slots;      /* of both lists */
    uint32_t first[2];   /* slot of +0, -0 */
    uint32_t last[2];    /* overflow of positive, negative numbers */
    uint32_t calm_top;   /* magnitudes below it have no part in overflow */
    uint32_t calm_low;   /* DIRECT and INDEXED hold for magnitudes from it on, and for 0 */
    uint32_t *number;    /* [slots], bits; of overflow: what would come next, or the last number */
    uint32_t *code;      /* [slots] */
    uint32_t *threshold; /* [slots]: of list s thresholds first[s].. are for slots first[s] + 1.. */
    uint32_t shift;
    uint32_t *word;
    uint32_t *row, *slot_at, *threshold_at;
    /* For packing members: member[x >> member_shift] is the code of the one number that begins so,
     * or has HU_MEMBER_ASK (not of finite normal numbers, or several). NULL: too many bits decide.
     */
    uint16_t *member;
    uint32_t member_shift;
    /* Upper and lower halves of patterns. Of up to 8 bits: of codes 0..255, by their last bits.
     * Where no list has more than 128 slots before overflow: of the slots of +, then from 128 on of
     * -. */
    uint16_t *high, *low, *slot_high, *slot_low;
    bool has_low; /* some lower half is not 0 */
    /* Of up to 8 bits: byte b of the patterns of codes, from 256 b on, by their last bits; and for
     * kernels that look up bytes (format/table/bytes.h). NULL: another kind of table. */
    uint8_t *byte;
    hu_code_bytes *bytes, *members; /* members: for packing */
    bool is_exact;       /* differences of neighbours, and of what lies between, are doubles */
    bool is_exact_there; /* so is what would come next */
};

/* Adds the patterns of codes and slots as halves and bytes. HU_ERR_MEMORY. */
hu_status hu_code_slots_add_patterns(const hu_code_table *table, hu_code_steps *steps);

/* Slot of a magnitude in list 0 (+) or 1 (-): thresholds of the list at most the magnitude. */
uint32_t hu_code_slot_in(const hu_code_steps *steps, int list, uint32_t magnitude);

/* Slot of a number's bits (without a scale). */
uint32_t hu_code_slot(const hu_code_steps *steps, uint32_t bits);

#endif
