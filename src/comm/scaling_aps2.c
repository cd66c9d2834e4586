/* Two scales: sums are made in float32, so that the way up needs no room for them, and the sum has
 * a scale of its own on the way down. Every piece of every level has its own, sent with it. */
#include "comm/scaling.h"

const hu_comm_scaling hu_comm_scaling_aps2 = {
    .name = "aps2",
    .help = "own scales for gradients and for sums, which are made in float32",
    .wide = true,
    .fresh = true};
