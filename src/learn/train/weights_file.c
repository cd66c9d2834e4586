#include "train/trainer.h"
#include "train/weights.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/memory.h"
#include "op/attributes.h"
#include "store/safetensors.h"
#include "train/internal.h"

/* ---- How the tensors of a graph stand in files of weights ---- */

struct hu_weight_views {
    const hu_graph *graph;
    hu_vector_orders *orders; /* NULL: nothing is turned */
};

hu_status hu_weight_views_create(const hu_graph *graph, hu_weight_layout layout,
                                 hu_weight_views **result) {
    hu_status st;
    *result = NULL;
    HU_TRY(HU_NEW(result));
    (*result)->graph = graph;
    if (layout == HU_WEIGHTS_TORCH) HU_TRY(hu_vector_orders_create(graph, &(*result)->orders));
done:
    if (st != HU_OK) {
        hu_weight_views_free(*result);
        *result = NULL;
    }
    return st;
}

void hu_weight_views_free(hu_weight_views *views) {
    if (views) hu_vector_orders_free(views->orders);
    hu_free(views);
}

static const hu_node *reader_of(const hu_graph *graph, uint32_t use) {
    return &graph->node[graph->use[use].node];
}

static bool is_convolution(const hu_op *op) {
    return op == &hu_op_conv2d || op == &hu_op_conv1d;
}

/* Is the value the weight [out, kh, kw, in / groups] of a convolution, or [out, k, in / groups]? */
static bool is_kernel(const hu_graph *graph, hu_value_id v) {
    const hu_value_info *value = &graph->value[v];
    return is_convolution(reader_of(graph, value->uses[0])->op) && value->shape.rank > 1;
}

hu_shape hu_weight_shape(const hu_weight_views *views, hu_value_id v) {
    const hu_shape *here = &views->graph->value[v].shape;
    if (!views->orders || !is_kernel(views->graph, v)) return *here;
    const int64_t *extent = here->extent;
    if (here->rank == 3) return (hu_shape){3, {extent[0], extent[2], extent[1]}};
    return (hu_shape){4, {extent[0], extent[3], extent[1], extent[2]}};
}

/* order: [count] a copy of it; NULL where it is NULL. */
static hu_status copy_order(const int64_t *order, int64_t count, int64_t **copy) {
    *copy = NULL;
    if (!order) return HU_OK;
    hu_status st = HU_NEW_ARRAY(copy, (size_t)count);
    if (st == HU_OK) memcpy(*copy, order, (size_t)count * sizeof *order);
    return st;
}

/* Columns of a kernel: [places, channels] here, the channels in an order of their own or NULL;
 * channels first there. */
static hu_status turn_kernel(const hu_shape *kernel, const int64_t *order, int64_t **column) {
    int64_t channels = kernel->extent[kernel->rank - 1];
    int64_t places = hu_shape_elements(kernel) / (kernel->extent[0] * channels);
    hu_status st = HU_NEW_ARRAY(column, (size_t)(places * channels));
    if (st != HU_OK) return st;
    for (int64_t c = 0; c < channels; c++)
        for (int64_t p = 0; p < places; p++)
            (*column)[c * places + p] = p * channels + (order ? order[c] : c);
    return HU_OK;
}

/* One side of a linear layer: an image that it reads as one vector, or a vector. */
static hu_status turn_side(const hu_shape *image, const int64_t *order, int64_t count,
                           int64_t **side) {
    if (!image) return copy_order(order, count, side);
    hu_status st = HU_NEW_ARRAY(side, (size_t)count);
    if (st == HU_OK) hu_image_order(image, *side);
    return st;
}

/* Of the weight of a product; what it reads has its columns, what it makes its rows; transposed,
 * the other way round. */
static hu_status turn_weight(const hu_weight_views *views, const hu_node *node,
                             hu_weight_view *view) {
    hu_status st;
    const int64_t *in, *out;
    const hu_graph *graph = views->graph;
    bool is_conv = is_convolution(node->op);
    const hu_linear_attrs *linear = node->attrs;
    bool is_transposed = node->op == &hu_op_conv2d
                             ? ((const hu_conv_attrs *)node->attrs)->transposed
                             : !is_conv && linear->transposed;
    const hu_value_info *value = &graph->value[node->param[0]];
    const hu_shape *read = &graph->value[node->in[0]].shape;
    HU_TRY(hu_vector_order_of(views->orders, node->in[0], &in));
    HU_TRY(hu_vector_order_of(views->orders, node->out[0], &out));
    const int64_t *row = is_transposed ? in : out, *column = is_transposed ? out : in;
    if (is_conv) {
        HU_TRY(copy_order(row, view->rows, &view->row));
        return turn_kernel(&value->shape, column, &view->column);
    }
    bool reads_image = !linear->rows && read->rank == 3 && !hu_is_vector(read);
    const hu_shape *image = reads_image ? read : NULL;
    HU_TRY(turn_side(is_transposed ? NULL : image, column, view->columns, &view->column));
    HU_TRY(turn_side(is_transposed ? image : NULL, row, view->rows, &view->row));
done:
    return st;
}

/* As one use of the parameter asks for it. */
static hu_status turn_for(const hu_weight_views *views, uint32_t use, hu_weight_view *view) {
    const int64_t *order;
    const hu_node *node = reader_of(views->graph, use);
    bool is_product = is_convolution(node->op) || node->op == &hu_op_linear;
    bool is_weight = views->graph->use[use].index == node->n_in;
    if (is_product && is_weight) return turn_weight(views, node, view);
    hu_value_id out = node->out[0];
    bool is_long = view->columns == 1 && view->rows == views->graph->value[out].elements;
    if (!is_long || !(is_product || hu_is_by_element(node->op))) return HU_OK;
    hu_status st = hu_vector_order_of(views->orders, out, &order);
    return st == HU_OK ? copy_order(order, view->rows, &view->row) : st;
}

static bool is_same_order(const int64_t *a, const int64_t *b, int64_t count) {
    for (int64_t i = 0; i < count; i++)
        if ((a ? a[i] : i) != (b ? b[i] : i)) return false;
    return true;
}

/* What is used several times must stand in one order for all uses. */
static hu_status check_uses(const hu_weight_views *views, hu_value_id v,
                            const hu_weight_view *view) {
    const hu_value_info *value = &views->graph->value[v];
    for (uint32_t i = 1; i < value->use_count; i++) {
        hu_weight_view other = *view;
        other.row = other.column = NULL;
        hu_status st = turn_for(views, value->uses[i], &other);
        bool is_same = st == HU_OK && is_same_order(view->row, other.row, view->rows) &&
                       is_same_order(view->column, other.column, view->columns);
        hu_weight_view_free(&other);
        if (st != HU_OK) return st;
        if (!is_same)
            return hu_fail(HU_ERR_UNSUPPORTED,
                           "'%s' is used by '%s' and '%s', which a torch.nn module reads in two "
                           "orders; expected layout=halfulp",
                           value->name, reader_of(views->graph, value->uses[0])->name,
                           reader_of(views->graph, value->uses[i])->name);
    }
    return HU_OK;
}

hu_status hu_weight_view_create(const hu_weight_views *views, hu_value_id v, hu_weight_view *view) {
    const hu_value_info *value = &views->graph->value[v];
    int64_t rows = value->shape.rank > 0 ? value->shape.extent[0] : 1;
    *view = (hu_weight_view){
        .shape = hu_weight_shape(views, v), .rows = rows, .columns = value->elements / rows};
    if (!views->orders) return HU_OK;
    hu_status st = turn_for(views, value->uses[0], view);
    return st == HU_OK ? check_uses(views, v, view) : st;
}

void hu_weight_view_free(hu_weight_view *view) {
    hu_free(view->row);
    hu_free(view->column);
    view->row = view->column = NULL;
}

/* Goes through a tensor in the order of the file, out of this program or into it. */
static void turn(const hu_weight_view *view, const float *from, float *to, bool out) {
    for (int64_t r = 0; r < view->rows; r++) {
        int64_t first = (view->row ? view->row[r] : r) * view->columns;
        for (int64_t k = 0; k < view->columns; k++) {
            int64_t here = first + (view->column ? view->column[k] : k);
            int64_t there = r * view->columns + k;
            if (out)
                to[there] = from[here];
            else
                to[here] = from[there];
        }
    }
}

void hu_weight_turn_out(const hu_weight_view *view, const float *here, float *there) {
    turn(view, here, there, true);
}

void hu_weight_turn_in(const hu_weight_view *view, const float *there, float *here) {
    turn(view, there, here, false);
}

/* ---- Rounded weights in as many bits as their formats have ---- */

enum { BYTE_BITS = 8, MOST_BITS = 16 };

/* Formats that safetensors knows by name; what is too large was rounded before. */
static const char *dtype_of(const hu_format *format) {
    static const char *const known[] = {"F16",     "BF16",        "F8_E4M3",
                                        "F8_E5M2", "F8_E4M3FNUZ", "F8_E5M2FNUZ"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        hu_format other;
        if (hu_format_parse(hu_safetensor_dtype_find(known[i])->format, &other) != HU_OK) continue;
        other.overflow = format->overflow;
        other.nan = format->nan;
        if (hu_format_equal(format, &other)) return known[i];
    }
    return hu_format_bits(format) <= BYTE_BITS ? "U8" : "U16";
}

static bool encode(const hu_weight_coding *coding, float x, uint32_t *code) {
    return hu_format_encode(&coding->format, ldexpf(x, -coding->exponent), code) == HU_OK;
}

/* Does every number come back? */
static bool is_exact(const hu_weight_coding *coding, const float *x, size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint32_t code;
        float back;
        if (!encode(coding, x[i], &code)) return false;
        if (hu_format_decode(&coding->format, code, &back) != HU_OK) return false;
        if (hu_f32_bits(ldexpf(back, coding->exponent)) != hu_f32_bits(x[i])) return false;
    }
    return true;
}

/* Of numbers that a quantizer has rounded, with a scale of 2^exponent: formats of at most 16 bits
 * whose codes give all numbers back, bit for bit. Blocks and uniform integers, whose scales are not
 * in their codes, stay float32 with the text. */
static void hu_weight_coding_of(const hu_quantizer *quantizer, int32_t exponent, const float *x,
                                size_t count, hu_weight_coding *coding) {
    *coding = (hu_weight_coding){.dtype = NULL};
    if (!hu_quantizer_rounds(quantizer)) return;
    hu_quantizer_print(quantizer, coding->text, sizeof coding->text);
    if (quantizer->kind != HU_QUANTIZER_FLOAT || hu_format_bits(&quantizer->format) > MOST_BITS)
        return;
    coding->format = quantizer->format;
    coding->exponent = exponent;
    if (!is_exact(coding, x, count)) return;
    char name[HU_QUANTIZER_BYTES];
    if (hu_format_print(&coding->format, name, sizeof name) != HU_OK) return;
    coding->dtype = exponent ? hu_format_bits(&coding->format) <= BYTE_BITS ? "U8" : "U16"
                             : dtype_of(&coding->format);
    if (exponent)
        snprintf(coding->text, sizeof coding->text, "%s 2^%d", name, (int)exponent);
    else
        snprintf(coding->text, sizeof coding->text, "%s", name);
}

size_t hu_weight_coding_bytes(const hu_weight_coding *coding) {
    if (!coding->dtype) return sizeof(float);
    return (size_t)hu_safetensor_dtype_find(coding->dtype)->bits / BYTE_BITS;
}

/* The codes of x [count], little endian; not of float32. */
static void hu_weight_encode(const hu_weight_coding *coding, const float *x, size_t count,
                             uint8_t *bytes) {
    size_t each = hu_weight_coding_bytes(coding);
    for (size_t i = 0; i < count; i++) {
        uint32_t code = 0;
        (void)encode(coding, x[i], &code); /* it can: hu_weight_coding_of has tried */
        for (size_t b = 0; b < each; b++) bytes[i * each + b] = (uint8_t)(code >> BYTE_BITS * b);
    }
}

hu_status hu_weight_coding_parse(const char *text, hu_format *format, int *exponent) {
    enum { SMALLEST = -300, LARGEST = 300 };
    char name[HU_CODES_TEXT];
    const char *scale = strstr(text, " 2^");
    char *end = NULL;
    long k = scale ? strtol(scale + strlen(" 2^"), &end, 10) : 0;
    if (strlen(text) >= sizeof name || (scale && (*end || k < SMALLEST || k > LARGEST)))
        return hu_fail(HU_ERR_PARSE, "found '%.100s', expected FORMAT or FORMAT 2^K", text);
    snprintf(name, sizeof name, "%.*s", scale ? (int)(scale - text) : (int)strlen(text), text);
    *exponent = (int)k;
    return hu_format_parse(name, format);
}

/* ---- The tensors of a trainer as a file of weights has them ---- */

const char *hu_weight_layout_name(hu_weight_layout layout) {
    static const char *const names[] = {"torch", "halfulp"};
    return names[layout];
}

const char *hu_export_kind(const hu_export_options *options) {
    if (options->averaged) return "average";
    if (options->coded) return "codes";
    return options->rounded ? "rounded" : "master";
}

static bool rounds(const hu_export_options *options) {
    return options->rounded || options->coded;
}

/* The codes of one tensor, where its format has some. */
static hu_status code(const hu_run *run, hu_value_id v, hu_weight_item *item) {
    hu_quantizer quantizer;
    int32_t exponent;
    hu_run_parameter_rounding(run, v, &quantizer, &exponent);
    hu_weight_coding_of(&quantizer, exponent, item->values, item->elements, &item->coding);
    if (!item->coding.dtype) return HU_OK;
    hu_status st =
        HU_NEW_ARRAY(&item->bytes, item->elements * hu_weight_coding_bytes(&item->coding));
    if (st == HU_OK) hu_weight_encode(&item->coding, item->values, item->elements, item->bytes);
    return st;
}

/* One tensor in the layout of the file; scratch: room for it. */
static hu_status fill(const hu_trainer *trainer, const hu_export_options *options,
                      const hu_weight_views *views, hu_value_id v, float *block, float *scratch,
                      hu_weight_item *item) {
    hu_weight_view view;
    const hu_value_info *value = &trainer->graph->value[v];
    int64_t offset = trainer->weights.offset[v];
    const float *values = hu_weights_of(&trainer->weights, v);
    hu_status st = hu_weight_view_create(views, v, &view);
    if (rounds(options)) values = hu_run_rounded_parameter(trainer->run, v, scratch + offset);
    if (st == HU_OK) hu_weight_turn_out(&view, values, block + offset);
    hu_weight_view_free(&view);
    *item = (hu_weight_item){.name = value->name,
                             .shape = hu_weight_shape(views, v),
                             .elements = (size_t)value->elements,
                             .values = block + offset};
    if (st == HU_OK && options->coded) st = code(trainer->run, v, item);
    return st;
}

static hu_status fill_all(hu_trainer *trainer, const hu_export_options *options,
                          const hu_weight_views *views, float *scratch, hu_weight_list *list) {
    const hu_graph *graph = trainer->graph;
    hu_run *run = trainer->run;
    hu_status st = HU_OK;
    if (rounds(options)) hu_run_round_parameters(run, (uint64_t)trainer->progress.step, false);
    const char *unencodable = hu_run_unencodable_parameter(run);
    if (rounds(options) && unencodable)
        return hu_fail(HU_ERR_NONFINITE, "'%s' holds numbers that its format cannot encode",
                       unencodable);
    for (hu_value_id v = 0; st == HU_OK && v < graph->value_count; v++)
        if (hu_is_in_weights(&graph->value[v]))
            st = fill(trainer, options, views, v, list->block, scratch, &list->item[list->count++]);
    return st;
}

hu_status hu_weight_list_create(hu_trainer *trainer, const hu_export_options *options,
                                hu_weight_list *list) {
    hu_status st;
    float *scratch = NULL;
    hu_weight_views *views = NULL;
    size_t elements = (size_t)trainer->weights.elements;
    *list = (hu_weight_list){0};
    if (options->averaged && !trainer->average.mean)
        return hu_fail(HU_ERR_ARGUMENT, "weights: found average, expected master or rounded: "
                                        "the run was trained without optimizer.average");
    HU_TRY(hu_weight_views_create(trainer->graph, options->layout, &views));
    HU_TRY(HU_NEW_ARRAY(&list->item, trainer->graph->value_count));
    HU_TRY(HU_NEW_ARRAY(&list->block, elements));
    HU_TRY(HU_NEW_ARRAY(&scratch, rounds(options) ? elements : 0));
    if (options->averaged) hu_weight_average_exchange(trainer);
    st = fill_all(trainer, options, views, scratch, list);
    if (options->averaged) hu_weight_average_exchange(trainer);
done:
    hu_weight_views_free(views);
    hu_free(scratch);
    return st;
}

void hu_weight_list_free(hu_weight_list *list) {
    for (size_t i = 0; list->item && i < list->count; i++) hu_free(list->item[i].bytes);
    hu_free(list->item);
    hu_free(list->block);
    *list = (hu_weight_list){0};
}
