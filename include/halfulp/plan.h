/* halfulp/plan.h - resolved plans: how a training rounds every tensor and every product, by name.
 *
 * `halfulp plan ... out=FILE.yaml` writes one, and a run has one in its folder
 * (plan.resolved.yaml; docs/reference/plan.schema.json tells of the file). What it does not name is
 * float32. Formats are texts that hu_quantization_open takes, accumulators texts that
 * hu_accumulator_parse takes. A plan is read only: threads may share it.
 */
#ifndef HALFULP_PLAN_H
#define HALFULP_PLAN_H
#include <stddef.h>
#include <stdint.h>

#include <halfulp/gemm.h>
#include <halfulp/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hu_plan hu_plan;

/* Where a tensor is rounded. */
typedef enum hu_plan_part {
    HU_PLAN_VALUE,   /* forward; of a parameter its working copy */
    HU_PLAN_USE,     /* by a consumer that reads it, on top of its own format */
    HU_PLAN_GRAD,    /* the gradient of a parameter; else what a consumer gives to the gradient */
    HU_PLAN_SUM,     /* the sum of what the consumers give */
    HU_PLAN_WEIGHTS, /* that sum once more, as the gradient of the layer's weights reads it */
    HU_PLAN_PARTS
} hu_plan_part;

/* The matrix products of a layer. */
typedef enum hu_plan_product {
    HU_PLAN_FORWARD,
    HU_PLAN_INPUT_GRAD,
    HU_PLAN_WEIGHT_GRAD,
    HU_PLAN_PRODUCTS
} hu_plan_product;

enum { HU_PLAN_TEXT_BYTES = 224 }; /* enough for every text below */

/* Reads a file, or a text that ends with a zero; name stands in errors, before line and column.
 *
 *   plan  owner frees with hu_plan_close; NULL on failure
 *
 * All of it is checked but what needs the model: whether that has tensors of these names.
 * HU_ERR_MISSING; HU_ERR_PARSE, HU_ERR_UNKNOWN, HU_ERR_FORMAT, HU_ERR_ARGUMENT with the line;
 * HU_ERR_VERSION: a plan of a later kind; HU_ERR_CORRUPT: no text, or more than 1 MiB of it. Proof:
 * tests/unit/settings_plan_test.c, tests/fuzz/plan_fuzz.c.
 */
HU_API hu_status hu_plan_load(const char *path, hu_plan **plan);
HU_API hu_status hu_plan_parse(const char *text, const char *name, hu_plan **plan);
HU_API void hu_plan_close(hu_plan *plan);

/* The plan as the text of a file, without comments. Borrowed: valid until the plan is closed. */
HU_API const char *hu_plan_text(const hu_plan *plan);

/* What stands at a path of names and points: "model.name", "scaler.init", "promotion.to.act";
 * NULL: no text stands there. Borrowed: valid until the plan is closed. */
HU_API const char *hu_plan_fact(const hu_plan *plan, const char *path);

/* Tensors in the order of the file: how many, and the name of one, NULL beyond the last. Borrowed:
 * valid until the plan is closed. */
HU_API size_t hu_plan_tensor_count(const hu_plan *plan);
HU_API const char *hu_plan_tensor(const hu_plan *plan, size_t index);

/* The number of a tensor. HU_ERR_UNKNOWN with the nearest names: it is float32. */
HU_API hu_status hu_plan_find(const hu_plan *plan, const char *name, size_t *index);

/* How many formats a part of a tensor has: 0: float32; 1: of all consumers; else one for each of
 * them, in the order in which they stand in the network. */
HU_API size_t hu_plan_formats(const hu_plan *plan, size_t index, hu_plan_part part);

/* The format of a part.
 *
 *   consumer  0 for the parts that have no consumers
 *   text      [capacity] "fp32", or FORMAT [MODE]: "fp(4,3,4)", "mxfp8", "e5m2 sr"; without a mode
 *             to nearest even
 *
 * HU_ERR_ARGUMENT: beyond the last tensor, part or consumer; HU_ERR_LIMIT: capacity is too small.
 */
HU_API hu_status hu_plan_format(const hu_plan *plan, size_t index, hu_plan_part part,
                                size_t consumer, char *text, uint32_t capacity);

/* What the products of a layer multiply. */
typedef enum hu_plan_operand {
    HU_PLAN_FORWARD_X,
    HU_PLAN_FORWARD_W,
    HU_PLAN_INPUT_GRAD_DY,
    HU_PLAN_INPUT_GRAD_W,
    HU_PLAN_WEIGHT_GRAD_DY,
    HU_PLAN_WEIGHT_GRAD_X,
    HU_PLAN_OPERANDS
} hu_plan_operand;

/* Layers whose products have accumulators or round their operands: how many, and the name of one,
 * NULL beyond the last. Borrowed: valid until the plan is closed. */
HU_API size_t hu_plan_layer_count(const hu_plan *plan);
HU_API const char *hu_plan_layer(const hu_plan *plan, size_t index);

/* The accumulator of a product of layer number index, with its semantics.
 *
 *   is_chosen  0: float32 sums in an order of the library's own; accumulator is zero then
 *
 * HU_ERR_ARGUMENT beyond the last. */
HU_API hu_status hu_plan_accumulator(const hu_plan *plan, size_t index, hu_plan_product product,
                                     hu_accumulator *accumulator, int *is_chosen);

/* How layer number index rounds an operand, along the dimension that its product sums over.
 *
 *   text  [capacity] as of hu_plan_format; "fp32": it is not rounded
 *
 * HU_ERR_ARGUMENT beyond the last; HU_ERR_LIMIT: capacity is too small. Proof:
 * tests/unit/settings_plan_test.c. */
HU_API hu_status hu_plan_operand_format(const hu_plan *plan, size_t index, hu_plan_operand operand,
                                        char *text, uint32_t capacity);

#ifdef __cplusplus
}
#endif

#endif
