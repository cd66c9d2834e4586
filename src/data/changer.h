/* data/changer.h - pictures that a network sees changed beyond crops and mirrors: RandAugment,
 * random erasing, mixtures of two (data/randaugment.h, erase.h, mix.h), in this order. What becomes
 * of a sample is a function of (settings, epoch, its index and that of its partner) alone.
 */
#ifndef HU_DATA_CHANGER_H
#define HU_DATA_CHANGER_H
#include "data/mix.h"
#include "data/spatial.h"

/* Room for so many threads. */
typedef struct hu_changer hu_changer;

/* Whether any of the settings asks for one. */
bool hu_changes(const hu_augment *augment);

/* field: of the pictures, borrowed; fillers: threads that fill at once, at least 1; more wait.
 * HU_ERR_ARGUMENT: RandAugment of pictures without three channels; HU_ERR_MEMORY. Owner frees with
 * hu_changer_free; NULL is allowed. */
hu_status hu_changer_create(const hu_field *field, const hu_augment *augment, uint64_t seed,
                            int fillers, hu_changer **changer);
void hu_changer_free(hu_changer *changer);

/* A sample as it is stored, and the changes of data/spatial.h. Borrowed. */
typedef struct hu_stored {
    const uint8_t *bytes;
    hu_change change;
    int64_t index; /* in the data */
} hu_stored;

/* How a sample is mixed with its partner; weight 0 where nothing is. */
hu_mix hu_changer_mix(const hu_changer *changer, int64_t epoch, int64_t index);

/* sample [height, width, channels]; partner: NULL where there is none. By several threads at once.
 */
void hu_changer_fill(hu_changer *changer, const hu_byte_table *table, int64_t epoch,
                     const hu_stored *own, const hu_stored *partner, float *sample);

#endif
