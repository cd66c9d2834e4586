/* Auto-precision scaling: a power of two per tensor, from the largest magnitude of all workers,
 * with room for a sum of all. Source: APS paper, Algorithm 1. */
#include "comm/scaling.h"

const hu_comm_scaling hu_comm_scaling_aps = {
    .name = "aps",
    .help = "a power of two per tensor, with room for the sum (the paper's)",
    .exponent = hu_comm_paper_exponent};
