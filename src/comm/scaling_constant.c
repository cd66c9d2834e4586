/* One factor for all tensors and all steps, as loss scaling has it, but for the wire alone. */
#include "comm/scaling.h"

const hu_comm_scaling hu_comm_scaling_constant = {
    .name = "constant", .help = "gradients times 2^K", .takes_constant = true};
