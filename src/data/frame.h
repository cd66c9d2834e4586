/* data/frame.h - a border around the images of a data set. */
#ifndef HU_DATA_FRAME_H
#define HU_DATA_FRAME_H
#include <halfulp/data.h>

enum { HU_FRAME_MOST = 256 };

/* Surrounds the field "image" of a data set in memory, of both parts, by so many black pixels on
 * each side: other extents, other bytes. Not behind hu_dataset_hold_out.
 *
 *   pixels  0..HU_FRAME_MOST; 0 changes nothing
 *
 * HU_ERR_ARGUMENT: the images are no bytes in memory, or another field moves with them;
 * HU_ERR_LIMIT, HU_ERR_MEMORY. The data set is unchanged after a failure.
 * Proof: tests/unit/data_frame_test.c. */
hu_status hu_dataset_frame(hu_dataset *dataset, int64_t pixels);

#endif
