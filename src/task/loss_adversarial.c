/* Binary cross entropy of what one network says of pictures, as logits: real ones are 1 to it and
 * made ones 0; the other network wants its own to be 1 (the form of the paper that does not
 * saturate). Source: Goodfellow et al. 2014, section 3. */
#include "op/loss.h"
#include "task/loss.h"

const hu_loss_form hu_loss_adversarial = {
    .name = "adversarial",
    .help = "binary cross entropy of real and made pictures, in turns",
    .kind = HU_LOSS_ADVERSARIES,
    .op = &hu_op_bce_toward};
