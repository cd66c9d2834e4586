/* op/activation.h - attributes of the element-wise operations. */
#ifndef HU_OP_ACTIVATION_H
#define HU_OP_ACTIVATION_H
#include "op/op.h"

typedef struct hu_leaky_relu_attrs {
    float slope; /* finite, of negative numbers */
} hu_leaky_relu_attrs;

typedef struct hu_clipped_relu_attrs {
    float limit; /* finite, above 0; 20 in DeepSpeech (Hannun et al., 2014) */
} hu_clipped_relu_attrs;

/* GELU of Hendrycks and Gimpel, 2016; NULL: by erf. */
typedef struct hu_gelu_attrs {
    bool by_tanh; /* x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2, not x (1 + erf(x/sqrt 2)) / 2
                   */
} hu_gelu_attrs;

/* ---- Attributes of scale ---- */

typedef struct hu_scale_attrs {
    float factor; /* finite */
} hu_scale_attrs;

#endif
