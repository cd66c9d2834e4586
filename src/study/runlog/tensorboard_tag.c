#include "runlog/tensorboard_tag.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *column, *about;
} sentences[] = {
    {"loss", "Loss of the step's batch, before its update."},
    {"batch_metric", "Metric over the samples of the step's batch."},
    {"lr", "Learning rate of the step."},
    {"loss_scale", "What the loss is multiplied with before the backward pass."},
    {"skipped", "1 where the update was left out, because gradients were not finite."},
    {"gradient_norm", "Root of the squares of all gradients, without the loss scale."},
    {"test_metric", "Metric over the test samples."},
    {"validation_metric", "Metric over the samples held out of training."},
    {"low_precision_ratio", "Share of the numbers of all tensors that are in low precision."},
    {"promoted", "Tensors that were promoted from low to high precision so far."},
    {"relative_forward_cost", "Bit-operations of all forward passes so far, over the most bits."},
    {"relative_training_cost", "Bit-operations of all steps so far, over the most bits."},
    {"turn_1_loss", "Loss of the first turn of each step."},
    {"turn_2_loss", "Loss of the second turn of each step."},
    {"turn_2_loss_scale", "Loss scale of the second turn."},
};

const char *hu_tensorboard_tag_about(const char *column) {
    for (size_t i = 0; i < sizeof sentences / sizeof *sentences; i++)
        if (strcmp(sentences[i].column, column) == 0) return sentences[i].about;
    return "";
}

const char *hu_tensorboard_tag(const char *group, const char *title, char tag[HU_BOARD_TAG_BYTES]) {
    size_t length = group ? strlen(group) : 0;
    bool says_group = length > 0 && strncmp(title, group, length) == 0 && title[length] == '_';
    tag[0] = '\0';
    if (group)
        snprintf(tag, HU_BOARD_TAG_BYTES, "%.20s/%.80s", group,
                 title + (says_group ? length + 1 : 0));
    return tag;
}

hu_status hu_tensorboard_tag_exponents(void *board, int64_t step, const char *name, int32_t first,
                                       const uint64_t *bin, size_t count) {
    char tag[512];
    if (count == 0) return HU_OK;
    snprintf(tag, sizeof tag, "exponents/%s", name);
    return hu_tensorboard_exponents(board, step, tag, first, bin, count);
}
