/* No scale: numbers travel as they are, and overflow or vanish as the format says. */
#include "comm/scaling.h"

const hu_comm_scaling hu_comm_scaling_none = {.name = "none", .help = "gradients as they are"};
