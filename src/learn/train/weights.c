#include "train/weights.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "op/attributes.h"
#include "store/safetensors.h"
#include "train/internal.h"
#include "train/trainer.h"

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
                         : is_conv ? ((const hu_conv1d_attrs *)node->attrs)->transposed
                                   : linear->transposed;
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

/* Bytes of a number. */
static size_t hu_weight_coding_bytes(const hu_weight_coding *coding) {
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

static const char *hu_weight_layout_name(hu_weight_layout layout) {
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

static hu_status hu_weight_list_create(hu_trainer *trainer, const hu_export_options *options,
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

/* HU_ERR_MEMORY; HU_ERR_ARGUMENT: there are no
 * means; HU_ERR_UNSUPPORTED, HU_ERR_NONFINITE as hu_trainer_print. Owner frees with
 * hu_weight_list_free, also on failure. */
static void hu_weight_list_free(hu_weight_list *list) {
    for (size_t i = 0; list->item && i < list->count; i++) hu_free(list->item[i].bytes);
    hu_free(list->item);
    hu_free(list->block);
    *list = (hu_weight_list){0};
}

/* ---- Weights as codes, and as a header of C ---- */

/* ---- Which widths make one network: channel numbers are rounded ---- */

static const double least = 0.01, most = 64.0, per_unit = 100.0;

/* The same values of the same sizes. */
static bool is_same(const hu_graph *a, const hu_graph *b) {
    if (a->value_count != b->value_count) return false;
    for (hu_value_id v = 0; v < a->value_count; v++) {
        const hu_shape *one = &a->value[v].shape, *other = &b->value[v].shape;
        if (one->rank != other->rank) return false;
        for (int i = 0; i < one->rank; i++)
            if (one->extent[i] != other->extent[i]) return false;
    }
    return true;
}

/* Whether a width makes another network; one that cannot be made is another. */
static hu_status differs(const hu_train_options *options, const hu_dataset *dataset,
                         const hu_graph *graph, double width, bool *is_other) {
    hu_train_options other = *options;
    hu_task_choice choice;
    hu_graph *made = NULL;
    other.width = width;
    hu_status st = hu_train_network(&other, dataset, &choice, &made);
    *is_other = st != HU_OK || !is_same(graph, made);
    hu_graph_free(made);
    return st == HU_ERR_MEMORY ? st : HU_OK;
}

hu_status hu_train_other_widths(const hu_train_options *options, const hu_dataset *dataset,
                                const hu_graph *graph, double *below, double *above) {
    double *const found[] = {below, above};
    *below = *above = (double)NAN;
    for (int side = 0; side < 2; side++) {
        double first = side ? floor(per_unit * options->width) : ceil(per_unit * options->width);
        for (int i = 1; i <= HU_WIDTHS_LOOKED_AT && isnan(*found[side]); i++) {
            double width = (side ? first + i : first - i) / per_unit;
            bool is_other;
            if (width < least || width > most) break;
            hu_status st = differs(options, dataset, graph, width, &is_other);
            if (st != HU_OK) return st;
            if (is_other) *found[side] = width;
        }
    }
    return HU_OK;
}

/* ---- Weights as a header of C, for small devices ---- */

enum { TEXT = 1536, IDENTIFIER = HU_NAME_BYTES + 32, CODES_A_LINE = 16, FLOATS_A_LINE = 6 };

static hu_status put(hu_byte_writer *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static hu_status put(hu_byte_writer *out, const char *format, ...) {
    char text[TEXT];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (length < 0 || length >= TEXT)
        return hu_fail(HU_ERR_INTERNAL, "a part of the header has more than %d bytes", TEXT);
    return hu_write_bytes(out, text, (size_t)length);
}

typedef struct identifier {
    char text[IDENTIFIER];
} identifier;

/* Whether a name is that of an array, or of what goes with it. */
static bool belongs_to(const char *name, const char *array) {
    static const char *const endings[] = {"", "_shape", "_exp_bits", "_man_bits", "_bias"};
    size_t length = strlen(array);
    if (strncmp(name, array, length) != 0) return false;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (strcmp(name + length, endings[i]) == 0) return true;
    return false;
}

/* No ending ends another one: two arrays meet where one is called as something of the other. */
static bool are_alike(const char *a, const char *b) {
    return belongs_to(a, b) || belongs_to(b, a);
}

/* "w_layer1_0_conv1_weight"; with a number after it where that is present already. */
static void name_item(const hu_weight_list *list, size_t index, identifier *names) {
    char *text = names[index].text;
    int length = snprintf(text, IDENTIFIER - 24, "w_%s", list->item[index].name);
    bool is_present = true;
    for (char *c = text; *c; c++)
        if (!isalnum((unsigned char)*c)) *c = '_';
    for (size_t number = index; is_present; number += list->count) {
        is_present = false;
        for (size_t i = 0; i < index && !is_present; i++)
            is_present = are_alike(names[i].text, text);
        if (is_present) snprintf(text + length, (size_t)(IDENTIFIER - length), "_no%zu", number);
    }
}

static const char decoder[] =
    "/* The number of a code: a sign, exp_bits of exponent, man_bits of fraction. */\n"
    "static inline float hu_decode(uint32_t code, int exp_bits, int man_bits, int bias) {\n"
    "    uint32_t man = code & ((1u << man_bits) - 1u);\n"
    "    uint32_t exp = code >> man_bits & ((1u << exp_bits) - 1u);\n"
    "    float x = exp ? ldexpf((float)(man + (1u << man_bits)), (int)exp - bias - man_bits)\n"
    "                  : ldexpf((float)man, 1 - bias - man_bits);\n"
    "    return code >> (exp_bits + man_bits) & 1u ? -x : x;\n"
    "}\n\n";

/* What the function above gives. */
static float decode(uint32_t code, const hu_weight_coding *coding) {
    uint32_t one = 1u << coding->format.man_bits, man = code & (one - 1u);
    uint32_t exp = code >> coding->format.man_bits & ((1u << coding->format.exp_bits) - 1u);
    int last = coding->exponent - coding->format.bias - coding->format.man_bits;
    float x = exp ? ldexpf((float)(man + one), (int)exp + last) : ldexpf((float)man, 1 + last);
    return code >> (coding->format.exp_bits + coding->format.man_bits) & 1u ? -x : x;
}

static uint32_t code_of(const hu_weight_item *item, size_t i) {
    size_t each = hu_weight_coding_bytes(&item->coding);
    uint32_t code = item->bytes[i * each];
    return each == 1 ? code : code | (uint32_t)item->bytes[i * each + 1] << 8;
}

/* Are there codes, and does the function decode them? */
static bool is_coded(const hu_weight_item *item) {
    const hu_format *format = &item->coding.format;
    bool has_fields = hu_format_bits(format) == 1u + format->exp_bits + format->man_bits;
    if (!item->bytes || !has_fields) return false;
    for (size_t i = 0; i < item->elements; i++)
        if (hu_f32_bits(decode(code_of(item, i), &item->coding)) != hu_f32_bits(item->values[i]))
            return false;
    return true;
}

static hu_status put_shape(hu_byte_writer *out, const char *name, const hu_shape *shape) {
    hu_status st;
    int rank = shape->rank > 0 ? shape->rank : 1;
    HU_TRY(put(out, "static const int32_t %s_shape[%d] = {", name, rank));
    for (int i = 0; i < rank; i++)
        HU_TRY(put(out, "%s%" PRId64, i ? ", " : "", shape->rank > 0 ? shape->extent[i] : 1));
    HU_TRY(put(out, "};\n"));
done:
    return st;
}

static hu_status put_numbers(hu_byte_writer *out, const hu_weight_item *item, bool coded) {
    hu_status st = HU_OK;
    size_t line = coded ? CODES_A_LINE : FLOATS_A_LINE;
    for (size_t i = 0; i < item->elements; i++) {
        const char *before = i % line ? " " : "\n    ";
        if (coded)
            HU_TRY(put(out, "%s%" PRIu32 ",", before, code_of(item, i)));
        else
            HU_TRY(put(out, "%s%af,", before, (double)item->values[i]));
    }
    HU_TRY(put(out, "\n};\n\n"));
done:
    return st;
}

static hu_status put_item(hu_byte_writer *out, const hu_weight_item *item, const char *name) {
    hu_status st;
    const hu_weight_coding *coding = &item->coding;
    bool coded = is_coded(item);
    const char *type = !coded                                ? "float"
                       : hu_weight_coding_bytes(coding) == 1 ? "uint8_t"
                                                             : "uint16_t";
    /* A name that would end the comment is told as the array is called. */
    HU_TRY(put(out, "/* %s, %s */\n", strstr(item->name, "*/") ? name : item->name,
               coding->text[0] ? coding->text : "not rounded"));
    if (coded)
        HU_TRY(put(out, "enum { %s_exp_bits = %d, %s_man_bits = %d, %s_bias = %d };\n", name,
                   coding->format.exp_bits, name, coding->format.man_bits, name,
                   (int)(coding->format.bias - coding->exponent)));
    HU_TRY(put_shape(out, name, &item->shape));
    HU_TRY(put(out, "static const %s %s[%zu] = {", type, name, item->elements));
    HU_TRY(put_numbers(out, item, coded));
done:
    return st;
}

static hu_status put_head(hu_byte_writer *out, const hu_trainer *trainer,
                          const hu_export_options *options, const hu_weight_list *list) {
    hu_status st;
    size_t bytes = 0;
    for (size_t i = 0; i < list->count; i++) {
        const hu_weight_item *item = &list->item[i];
        bytes += item->elements *
                 (is_coded(item) ? hu_weight_coding_bytes(&item->coding) : sizeof(float));
    }
    HU_TRY(put(out,
               "/* Weights (%s) of %.100s behind step %lld, by halfulp " HALFULP_VERSION
               ": %zu tensors, %zu bytes.\n *\n",
               hu_export_kind(options), trainer->options.model, (long long)trainer->progress.step,
               list->count, bytes));
    HU_TRY(put(out,
               " * Each has an array NAME and its extents NAME_shape, the slowest first, in "
               "the layout of %s.\n * Floats are the numbers; number i of an array of codes is\n"
               " *     hu_decode(NAME[i], NAME_exp_bits, NAME_man_bits, NAME_bias)\n"
               " * The bias holds the scale of the tensor, if it has one. */\n",
               hu_weight_layout_name(options->layout)));
    HU_TRY(put(out,
               "#ifndef HALFULP_WEIGHTS_H\n#define HALFULP_WEIGHTS_H\n#include <math.h>\n"
               "#include <stdint.h>\n\n%s",
               decoder));
done:
    return st;
}

/* The text of a header: an array of codes or of floats for each tensor, its shape and scale, and a
 * function that decodes. Owner frees *data with hu_free. HU_ERR_MEMORY. */
static hu_status weight_header(const hu_trainer *trainer, const hu_export_options *options,
                               const hu_weight_list *list, uint8_t **data, size_t *bytes) {
    hu_status st;
    hu_byte_writer out = {0};
    identifier *names = NULL;
    HU_TRY(HU_NEW_ARRAY(&names, list->count));
    HU_TRY(put_head(&out, trainer, options, list));
    for (size_t i = 0; i < list->count; i++) {
        name_item(list, i, names);
        HU_TRY(put_item(&out, &list->item[i], names[i].text));
    }
    HU_TRY(put(&out, "#endif\n"));
    *data = out.data;
    *bytes = out.size;
    out.data = NULL;
done:
    hu_writer_free(&out);
    hu_free(names);
    return st;
}

/* ---- Files of weights ---- */

hu_status hu_weight_layout_parse(const char *text, hu_weight_layout *layout) {
    for (int i = 0; i < 2; i++) {
        if (strcmp(text, hu_weight_layout_name((hu_weight_layout)i)) != 0) continue;
        *layout = (hu_weight_layout)i;
        return HU_OK;
    }
    return hu_fail(HU_ERR_UNKNOWN, "layout '%.100s', expected torch or halfulp", text);
}

/* "format:NAME" of a tensor whose format has a text. Owner frees *key. */
static hu_status add_format(const hu_weight_item *item, char **key, hu_safetensor_text *text) {
    static const char prefix[] = HU_WEIGHT_FORMAT_KEY;
    size_t bytes = sizeof prefix + strlen(item->name);
    hu_status st = HU_NEW_ARRAY(key, bytes);
    if (st != HU_OK) return st;
    snprintf(*key, bytes, "%s%s", prefix, item->name);
    *text = (hu_safetensor_text){*key, item->coding.text};
    return HU_OK;
}

/* Wide numbers first, so that each begins at a multiple of its size. */
static size_t add_tensors(const hu_weight_list *list, hu_safetensor_source *tensors) {
    size_t count = 0;
    for (size_t width = sizeof(float); width > 0; width /= 2)
        for (size_t i = 0; i < list->count; i++) {
            const hu_weight_item *item = &list->item[i];
            if (hu_weight_coding_bytes(&item->coding) != width) continue;
            tensors[count++] = (hu_safetensor_source){.name = item->name,
                                                      .shape = item->shape,
                                                      .values = item->values,
                                                      .dtype = item->coding.dtype,
                                                      .bytes = item->bytes};
        }
    return count;
}

static hu_status print_list(const hu_trainer *trainer, const hu_export_options *options,
                            const hu_weight_list *list, uint8_t **data, size_t *bytes) {
    hu_status st;
    char step[32], **keys = NULL;
    hu_safetensor_source *tensors = NULL;
    hu_safetensor_text *metadata = NULL;
    size_t texts = 0, formats = 0;
    snprintf(step, sizeof step, "%lld", (long long)trainer->progress.step);
    const hu_safetensor_text facts[] = {{"format", "pt"},
                                        {"halfulp", HALFULP_VERSION},
                                        {"layout", hu_weight_layout_name(options->layout)},
                                        {"model", trainer->options.model},
                                        {"step", step},
                                        {"weights", hu_export_kind(options)}};
    enum { FACTS = sizeof facts / sizeof *facts };
    HU_TRY(HU_NEW_ARRAY(&tensors, list->count));
    HU_TRY(HU_NEW_ARRAY(&metadata, list->count + FACTS));
    HU_TRY(HU_NEW_ARRAY(&keys, list->count));
    /* "pt" would not be true in another layout. */
    for (size_t i = options->layout == HU_WEIGHTS_TORCH ? 0 : 1; i < FACTS; i++)
        metadata[texts++] = facts[i];
    for (size_t i = 0; i < list->count; i++)
        if (list->item[i].coding.text[0])
            HU_TRY(add_format(&list->item[i], &keys[formats++], &metadata[texts++]));
    HU_TRY(hu_safetensors_print(tensors, add_tensors(list, tensors), metadata, texts, data, bytes));
done:
    for (size_t i = 0; keys && i < formats; i++) hu_free(keys[i]);
    hu_free(keys);
    hu_free(metadata);
    hu_free(tensors);
    return st;
}

/* What a list holds as it was written. */
static hu_export_report report_of(const hu_trainer *trainer, const hu_export_options *options,
                                  const hu_weight_list *list) {
    hu_export_report report = {.tensors = list->count, .elements = trainer->weights.elements};
    for (size_t i = 0; i < list->count; i++) {
        const hu_weight_item *item = &list->item[i];
        report.coded += options->as_c ? is_coded(item) : item->coding.dtype != NULL;
    }
    return report;
}

hu_status hu_trainer_print(hu_trainer *trainer, const hu_export_options *options, uint8_t **data,
                           size_t *bytes, hu_export_report *report) {
    hu_weight_list list;
    *data = NULL;
    *bytes = 0;
    hu_status st = hu_weight_list_create(trainer, options, &list);
    if (st == HU_OK)
        st = options->as_c ? weight_header(trainer, options, &list, data, bytes)
                           : print_list(trainer, options, &list, data, bytes);
    *report = report_of(trainer, options, &list);
    report->bytes = *bytes;
    hu_weight_list_free(&list);
    return st;
}

hu_status hu_trainer_export(hu_trainer *trainer, const char *path, const hu_export_options *options,
                            hu_export_report *report) {
    uint8_t *data = NULL;
    size_t bytes;
    hu_status st = hu_trainer_print(trainer, options, &data, &bytes, report);
    if (st == HU_OK) st = hu_file_replace(path, data, bytes);
    hu_free(data);
    return st;
}
