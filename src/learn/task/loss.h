/* task/loss.h - losses by name. A loss is one record and one line here. */
#ifndef HU_TASK_LOSS_H
#define HU_TASK_LOSS_H
#include <halfulp/data.h>

#include "base/elementary.h"
#include "graph/graph.h"
#include "media/anchors.h"
#include "op/attributes.h"

/* What a loss compares: rows of class scores with class numbers, or numbers with numbers; these
 * also as minus the log-likelihood of all true numbers of a sample, a sum; what is said beside
 * anchors with boxes; what is said of the regions that a network proposes, and of its anchors; what
 * one network says of pictures, of which another has made some, with what each of the two
 * wants it to say; or rows of class scores with a shorter sequence of class numbers. */
typedef enum hu_loss_kind {
    HU_LOSS_ROWS,
    HU_LOSS_NUMBERS,
    HU_LOSS_LIKELIHOOD,
    HU_LOSS_BOXES,
    HU_LOSS_REGIONS,
    HU_LOSS_ADVERSARIES,
    HU_LOSS_SEQUENCE
} hu_loss_kind;

typedef struct hu_loss_form {
    const char *name, *help;
    hu_loss_kind kind;
    bool takes_mix; /* reads what was mixed into samples, too (hu_loss_facts) */

    /* What a number of the head means as a prediction, NULL: itself. */
    double (*predicted)(double output);

    /* Minus the log-likelihood of a true number where the head says output; of HU_LOSS_LIKELIHOOD.
     */
    double (*token_loss)(double output, double target);

    /* The nodes of the loss: before (NULL: none) turns the head into what op compares with the
     * target. op has is_loss; attrs are their own, NULL: zeros. Those of a loss of boxes are the
     * anchors of the model, those of adversaries what is wanted (task/generative.c). */
    const hu_op *before, *op;
    const void *before_attrs, *attrs;
} hu_loss_form;

/* X(identifier). The one list of losses: const hu_loss_form hu_loss_<identifier>. */

// clang-format off
#define HU_LOSS_LIST(X)      \
    X(nll)                   \
    X(softmax_cross_entropy) \
    X(mixed_cross_entropy)   \
    X(mse)                   \
    X(l1)                    \
    X(bce)                   \
    X(bce_sum)                \
    X(ssd)                   \
    X(ssd_nll)               \
    X(faster_rcnn)           \
    X(adversarial)           \
    X(ctc)                   \
    X(ctc_nll)

// clang-format on

#define HU_LOSS_DECLARE(identifier) extern const hu_loss_form hu_loss_##identifier;
HU_LOSS_LIST(HU_LOSS_DECLARE)
#undef HU_LOSS_DECLARE

/* Loss number i in the order of the list, NULL after the last. Borrowed: valid forever. */
const hu_loss_form *hu_loss_at(size_t i);

/* The loss of a name. HU_ERR_UNKNOWN names the nearest. */
hu_status hu_loss_find(const char *name, const hu_loss_form **loss);

/* What hu_softmax needs to know of a row [classes] of class scores to make probabilities of them.
 * Scores that a node before the loss has made are log-probabilities, whose scale is zero. */
hu_softmax_row hu_loss_row(const hu_loss_form *loss, int64_t classes, const float *row);

/* What a loss does not know by itself; each is read by losses of one kind. */
typedef struct hu_loss_facts {
    const hu_anchors *anchors; /* boxes: where the model looks for them; NULL: it does not */
    double smoothing;          /* rows: the share of all classes, op/attributes.h */
    hu_value_id lengths;       /* sequences: the rows that count */
    hu_value_id mix;   /* mixed_cross_entropy: what was mixed in; HU_NONE: there is nothing */
    hu_loss_when when; /* which passes have it */
} hu_loss_facts;

/* Adds the nodes of a loss to a head and declares it with a weight and a normaliser. The last node
 * is called NAME, the one before it after its op (and after NAME, unless that is "loss"). Errors as
 * hu_graph_apply and hu_graph_loss. */
hu_status hu_loss_add(const hu_loss_form *loss, hu_graph *graph, const char *name, hu_value_id head,
                      hu_value_id target, const hu_loss_facts *facts, float weight,
                      hu_normaliser normaliser);

static const hu_row_loss_attrs hu_unlabelled_rows = {.ignores = true,
                                                     .ignored = (float)HU_UNLABELLED};

#endif
