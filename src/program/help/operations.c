#include <math.h>
#include <string.h>

#include "help/internal.h"
#include "op/attributes.h"

/* What the operations of networks do, in a line each, by family. */

typedef struct operation_row {
    const char *name, *help;
} operation_row;

/* A row without a help begins a family. tests/program/operations_test.py: every operation has one.
 */
static const operation_row rows[] = {
    {"Products", NULL},
    {"conv2d", "convolution over images [H, W, C]; transposed=on: its transpose"},
    {"conv1d", "convolution over rows [T, C]; transposed=on: its transpose"},
    {"linear", "fully connected: a sample as one vector; rows=on: each of its rows"},
    {"row_conv", "each channel of a row from itself and the rows after it"},
    {"attention_scores", "products of queries and keys, by head"},
    {"attention_context", "values, summed by the weights of attention"},
    {"band_linear", "a layer for the rows whose ids lie in a band"},
    {"sampled_scores", "scores of a row's own class and of drawn ones"},

    {"Tables, positions and tokens", NULL},
    {"embedding", "rows of a table by ids"},
    {"position", "adds a parameter as large as a sample"},
    {"sinusoid", "adds sines and cosines of the place"},
    {"rotary", "turns pairs of numbers by their place, head by head"},
    {"class_token", "puts a row that is a parameter in front of the others"},
    {"pick", "the first row, or the last one that is present"},
    {"pick_rows", "the rows at given places"},

    {"Norms", NULL},
    {"batch_norm", "by mean and variance of each channel over the batch"},
    {"range_norm", "the same by the range in place of the variance"},
    {"layer_norm", "by mean and variance of each row"},
    {"rms_norm", "by the root of the mean square of each row"},
    {"group_norm", "by mean and variance of groups of channels of a sample"},
    {"instance_norm", "the same of each channel"},
    {"local_norm", "by the squares of neighbouring channels"},
    {"l2_norm", "by the length over the channels"},

    {"Element by element", NULL},
    {"relu", "max(x, 0)"},
    {"leaky_relu", "x, or slope x below 0"},
    {"clipped_relu", "x between 0 and a limit"},
    {"sigmoid", "1 / (1 + e^-x)"},
    {"tanh", "hyperbolic tangent"},
    {"gelu", "x times the normal distribution function; tanh=on: by tanh"},
    {"silu", "x sigmoid(x)"},
    {"hard_sigmoid", "(x + 3) / 6 between 0 and 1"},
    {"hard_swish", "x hard_sigmoid(x)"},
    {"clip", "x between two numbers"},
    {"exp", "e^x"},
    {"log", "natural logarithm"},
    {"sqrt", "square root"},
    {"pow", "x to a power"},
    {"square", "x x"},
    {"abs", "|x|"},
    {"neg", "-x"},
    {"scale", "x times a number"},
    {"bias", "adds a parameter to each channel"},
    {"dropout", "zeros for a share of the elements, in training"},
    {"drop_path", "zeros for a share of the samples, in training"},

    {"Several values", NULL},
    {"add", "sum"},
    {"sub", "difference"},
    {"mul", "product, element by element"},
    {"div", "quotient, element by element"},
    {"minimum", "the smaller of two"},
    {"maximum", "the larger of two"},
    {"where", "of two values the first where a condition is not 0"},
    {"add_row", "adds one row to each of many"},
    {"sum_of_products", "a b + c d"},
    {"blend", "(1 - z) a + z b"},
    {"lstm_gates", "gates of an LSTM from their sums"},
    {"gru_gates", "gates of a GRU"},
    {"gru_candidate", "candidate state of a GRU"},
    {"concat", "one after the other along an axis, the last one"},
    {"interleave", "channels of two values in turns"},

    {"Shapes", NULL},
    {"flatten", "one vector"},
    {"reshape", "the same numbers in another shape; one extent may be -1"},
    {"transpose", "other order of the axes; of none the last two change places"},
    {"split", "parts along an axis, the last one, by one of first=, parts= and sizes="},
    {"slice", "places from start to before end of an axis, the last one"},
    {"pad", "so many places of one number before and after each axis"},
    {"reverse", "rows in the opposite order"},
    {"last_row", "the last row that is present, or a start where there is none"},

    {"Reductions and pooling", NULL},
    {"reduce_mean", "mean over axes, of none all of them"},
    {"reduce_sum", "sum over axes"},
    {"reduce_max", "largest number over axes"},
    {"max_pool", "largest number of windows of an image"},
    {"avg_pool", "mean of windows of an image"},
    {"max_pool1d", "largest number of windows of rows"},
    {"avg_pool1d", "mean of windows of rows"},
    {"adaptive_avg_pool", "means that make an image of a given size"},
    {"global_avg_pool", "mean of each channel"},
    {"roi_pool", "largest numbers in regions of a map"},
    {"softmax", "shares along an axis, the last one"},
    {"log_softmax", "their logarithms, row by row"},
    {"attention_weights", "shares of keys for each query, with a mask"},
    {"band_law", "log-probabilities of words in bands"},

    {"Larger images", NULL},
    {"nearest", "each pixel several times"},
    {"bilinear", "between the nearest pixels"},
    {"pixel_shuffle", "channels become pixels"},

    {"Noise, constants and lengths", NULL},
    {"normal", "numbers of the standard normal law"},
    {"sample_normal", "a draw by means and log-variances"},
    {"zeros", "zeros"},
    {"carried", "the state of a loop at the end of the pass before"},
    {"constant", "numbers that do not learn and come with the weights, for all samples"},
    {"ids", "the same as whole numbers, for embedding and pick_rows; never rounded"},
    {"log_uniform", "drawn class numbers, frequent ones more often"},
    {"length", "a number of rows behind a stride"},
    {"proposals", "regions of a picture from scores and offsets"},

    {"Losses, for `losses` of a network file", NULL},
    {"nll", "minus the log-probability of a class"},
    {"softmax_cross_entropy", "the same of logits"},
    {"adaptive_cross_entropy", "the same of words in bands"},
    {"mixed_cross_entropy", "the same of mixed samples"},
    {"sampled_cross_entropy", "the same among drawn classes"},
    {"mse", "squared error"},
    {"l1", "absolute error"},
    {"bce", "binary cross entropy of logits"},
    {"bce_toward", "the same toward one number"},
    {"kl_normal", "divergence of a code from the standard normal law"},
    {"ctc_loss", "all ways to spell a text in rows of scores"},
    {"ssd_loss", "boxes beside anchors"},
    {"rpn_loss", "regions beside anchors"},
    {"roi_loss", "boxes in regions"},
    {"mean", "the mean of a sample, minimised as it is"},
};
enum { ROWS = sizeof rows / sizeof *rows };

/* "out=, kernel=, stride=1" */
static void put_attributes(hu_page *page, const hu_op *op) {
    const char *comma = "";
    for (const hu_attribute *a = op->attributes; a && a->kind != HU_ATTRIBUTE_END; a++) {
        bool is_needed = isnan(a->preset), is_flag = a->kind == HU_ATTRIBUTE_FLAG;
        hu_page_put(page, "%s%s=", comma, a->name);
        if (is_flag)
            hu_page_put(page, "%s", a->preset != 0.0 ? "on" : "off");
        else if (!is_needed && a->preset != 0.0)
            hu_page_put(page, "%g", a->preset);
        comma = " ";
    }
}

static void put_row(hu_page *page, const operation_row *row) {
    const hu_op *op = hu_op_find(row->name);
    if (!op) return;
    hu_page_put(page, "  %-22s %s\n", row->name, row->help);
    if (!op->attributes || op->attributes->kind == HU_ATTRIBUTE_END) return;
    hu_page_put(page, "  %-22s   ", "");
    put_attributes(page, op);
    hu_page_put(page, "\n");
}

/* What stands for `previous` in files, which is no operation of its own. */
#define STATE_HELP "in a loop: what next= was a step before, the input in the first"

void hu_put_operations(hu_page *page) {
    hu_page_put(page,
                "Operations of networks of one's own, with their attributes and what these are "
                "where they\nare left out (docs/reference/network-file.md; in C hu_net_apply). "
                "init=, bias_init=: how\nparameters begin.\n");
    for (int i = 0; i < ROWS; i++) {
        if (rows[i].help)
            put_row(page, &rows[i]);
        else
            hu_page_put(page, "\n%s\n", rows[i].name);
    }
    hu_page_put(page, "\nLoops of a network file\n  %-22s %s\n  %-22s   next=\n", "state",
                STATE_HELP, "");
}

/* How many values it reads. */
static void put_inputs(hu_page *page, const hu_op *op) {
    if (op->max_in < 0)
        hu_page_put(page, "  inputs: %d or more\n", op->min_in);
    else if (op->min_in == op->max_in)
        hu_page_put(page, "  inputs: %d\n", op->min_in);
    else
        hu_page_put(page, "  inputs: %d to %d\n", op->min_in, op->max_in);
}

bool hu_put_operation(hu_page *page, const char *name) {
    const hu_op *op = hu_op_find(name);
    for (int i = 0; op && i < ROWS; i++) {
        if (!rows[i].help || strcmp(rows[i].name, name) != 0) continue;
        hu_page_put(page, "%s: an operation of networks (`halfulp help operations`): %s\n", name,
                    rows[i].help);
        put_inputs(page, op);
        for (const hu_attribute *a = op->attributes; a && a->kind != HU_ATTRIBUTE_END; a++) {
            hu_page_put(page, "  %s=: %s", a->name, hu_attribute_form(a->kind));
            if (a->kind == HU_ATTRIBUTE_FLAG)
                hu_page_put(page, "; %s if left out", a->preset != 0.0 ? "on" : "off");
            else if (isnan(a->preset))
                hu_page_put(page, "; must be given");
            else if (a->preset != 0.0)
                hu_page_put(page, "; %g if left out", a->preset);
            if (a->least != a->most && isinf(a->most))
                hu_page_put(page, "; at least %g", a->least);
            else if (a->least != a->most)
                hu_page_put(page, "; %g to %g", a->least, a->most);
            hu_page_put(page, "\n");
        }
        return true;
    }
    return false;
}
