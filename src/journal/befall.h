/* journal/befall.h - what may befall a tensor in one step, as its counts tell it. */
#ifndef HU_JOURNAL_BEFALL_H
#define HU_JOURNAL_BEFALL_H
#include <stdbool.h>
#include <stdint.h>

#include <halfulp/round.h>

/* Share of a tensor's numbers from which an event counts: of those that overflow, and of the
 * nonzero ones that vanish. */
#define HU_EVENT_SATURATION 0.01
#define HU_EVENT_UNDERFLOW 0.5

/* The events of numerics.jsonl (docs/run-folder.md). Their order is that of the bits in which a
 * checkpoint keeps what has befallen a tensor. */
typedef enum hu_befell {
    HU_BEFELL_NAN,
    HU_BEFELL_INFINITY,   /* of a tensor that is not rounded: beyond float32 */
    HU_BEFELL_OVERFLOW,   /* beyond the format that the tensor is rounded to */
    HU_BEFELL_SATURATION, /* a share of HU_EVENT_SATURATION overflowed */
    HU_BEFELL_UNDERFLOW,  /* a share of HU_EVENT_UNDERFLOW of the nonzero numbers vanished */
    HU_BEFELL_ZERO,       /* all numbers are zero */
    HU_BEFELL_UPDATE,     /* the update left the parameter infinite or NaN */
    HU_BEFALLINGS
} hu_befell;

/* The word of an event in the file. Borrowed: valid for ever. */
const char *hu_befell_name(hu_befell event);

/* The events of a tensor's counts in one step, bit 1 << event each; never HU_BEFELL_UPDATE, which
 * counts do not tell. rounds: whether the tensor is rounded to a format. */
unsigned hu_befell_bits(const hu_round_counts *counts, bool rounds);

/* How many numbers an event befell. */
uint64_t hu_befell_count(const hu_round_counts *counts, hu_befell event);

#endif
