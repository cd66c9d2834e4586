/* data/fields.h - fields of samples that are rows, frames around images, data from callers,
 * held-out samples. */
#ifndef HU_DATA_FIELDS_H
#define HU_DATA_FIELDS_H
#include <halfulp/data.h>

/* ---- row fields ---- */

/* Fields of samples that are rows of words or of sound: of the kinds of data
 * that read them, and for whoever assumes some.
 *
 * Each sets the fields and their count; classes are different words, letters and so on.
 */

/* Windows of a text: tokens [length], and the token after each. */
void hu_text_fields(int64_t length, int64_t classes, hu_dataset *dataset);

/* Words that are hidden at most of so many tokens: 15 of 100, rounded up. */
static inline int64_t hu_segments_hidden(int64_t length) {
    return (3 * length + 19) / 20;
}

/* Two segments of length tokens together; their hidden words and places; whether they belong
 * together; the tokens that are present. */
void hu_segment_fields(int64_t length, int64_t classes, hu_dataset *dataset);

/* A sentence [length] and its translation [length], which the network also reads, a token after;
 * how many of both are present. sources, targets: words of the two languages. */
void hu_sentence_fields(int64_t length, int64_t sources, int64_t targets, hu_dataset *dataset);

/* Sound [frames, bins, 1], how many frames are present, and what is said [letters]. */
void hu_sound_fields(int64_t frames, int64_t bins, int64_t letters, int64_t classes,
                     hu_dataset *dataset);

/* HU_ERR_MISSING for a half without samples, which only hu_dataset_of_rows makes. */
hu_status hu_dataset_need_samples(const hu_split *half);

/* ---- A border around the images of a data set ---- */

enum { HU_FRAME_MOST = 256 };

/* Surrounds the field "image" of a data set in memory, of both parts, by so many black pixels on
 * each side: other extents, other bytes. Not after hu_dataset_hold_out.
 *
 *   pixels  0..HU_FRAME_MOST; 0 changes nothing
 *
 * HU_ERR_ARGUMENT: the images are no bytes in memory, or another field moves with them;
 * HU_ERR_LIMIT, HU_ERR_MEMORY. The data set is unchanged after a failure.
 * Proof: tests/unit/data_frame_test.c. */
hu_status hu_dataset_frame(hu_dataset *dataset, int64_t pixels);

#endif
