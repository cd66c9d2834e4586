/* runlog/tensorboard_tag.h - the tags and sentences under which TensorBoard shows a column. */
#ifndef HU_JOURNAL_TENSORBOARD_TAG_H
#define HU_JOURNAL_TENSORBOARD_TAG_H
#include "render/tensorboard.h"
#include "runlog/recorder.h"

enum { HU_BOARD_TAG_BYTES = 112 };

/* "train/loss" of a group and a column's title; "test/accuracy" of test_accuracy, whose group its
 * title says too. "" without a group. Gives tag. */
const char *hu_tensorboard_tag(const char *group, const char *title, char tag[HU_BOARD_TAG_BYTES]);

/* What a column of the metrics is, in a sentence. Borrowed: valid for ever. */
const char *hu_tensorboard_tag_about(const char *column);

/* The exponents of one tensor, as "exponents/NAME"; board is the context of hu_recorder_watch. */
hu_status hu_tensorboard_tag_exponents(void *board, int64_t step, const char *name, int32_t first,
                                       const uint64_t *bin, size_t count);

#endif
