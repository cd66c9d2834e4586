/* The paper's scale; the owner of a piece adds its summands in float32 and rounds once. */
#include "comm/scaling.h"

const hu_comm_scaling hu_comm_scaling_aps_wide = {
    .name = "aps-wide",
    .help = "the paper's scale; sums are made in float32 and rounded once",
    .wide = true,
    .exponent = hu_comm_paper_exponent};
