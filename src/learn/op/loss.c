#include "op/loss.h"

#include "base/error.h"
#include "op/op.h"

size_t hu_loss_stats_count(const hu_node_info *info) {
    (void)info;
    return HU_LOSS_STATS;
}

size_t hu_loss_partial_count(const hu_node_info *info, hu_pass pass) {
    (void)info;
    return pass == HU_FORWARD ? HU_LOSS_STATS : 0;
}

/* The merged sums of the chunks are the sums of the batch. */
void hu_loss_finish(const hu_op_call *call, hu_pass pass) {
    if (pass == HU_FORWARD) memcpy(call->stats, call->partial, HU_LOSS_STATS * sizeof(double));
}

hu_status hu_expect_bands(const char *op, const hu_shape *head, int n, const hu_shape *bands) {
    for (int b = 0; b < n; b++) {
        hu_shape rows = bands[b];
        if (rows.rank > 0) rows.extent[rows.rank - 1] = hu_channels(head);
        if (!hu_shape_equal(&rows, head) || hu_channels(head) <= n)
            return hu_fail(HU_ERR_SHAPE,
                           "%s: band %d of %d has not the rows of the head, or there are no words "
                           "in front of the bands' scores",
                           op, b + 1, n);
    }
    return HU_OK;
}

int64_t hu_band_words(const hu_shape *head, int n, const hu_shape *bands) {
    int64_t words = hu_channels(head) - n;
    for (int b = 0; b < n; b++) words += hu_channels(&bands[b]);
    return words;
}
