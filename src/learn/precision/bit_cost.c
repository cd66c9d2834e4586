#include "precision/bits.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"

/* ---- cost ---- */

/* What a layer costs with so many bits: the list of costs.
 *
 * A cost is one file and one line of the list. All costs are of one layer and one sample, pass by
 * pass; a pass is one matrix product. docs/how-to/add-a-cost.md shows how to add one.
 */

const hu_cost *const hu_cost_list[HU_COST_COUNT] = {
#define COST_ROW(identifier) &hu_cost_##identifier,
    HU_COST_LIST(COST_ROW)
#undef COST_ROW
};

hu_status hu_cost_find(const char *name, const hu_cost **cost) {
    const char *names[HU_COST_COUNT];
    char nearest[128];
    for (int c = 0; c < HU_COST_COUNT; c++) {
        names[c] = hu_cost_list[c]->name;
        *cost = hu_cost_list[c];
        if (strcmp(name, names[c]) == 0) return HU_OK;
    }
    *cost = NULL;
    hu_nearest(name, names, HU_COST_COUNT, nearest, sizeof nearest);
    return hu_fail(HU_ERR_UNKNOWN, "unknown cost '%.40s', nearest: %s", name, nearest);
}

void hu_cost_passes(const hu_cost *cost, const hu_cost_task *task, const hu_bits_layer *layer,
                    const hu_cost_bits *bits, double passes[HU_COST_PASSES]) {
    cost->passes(task, layer, bits, passes);
    if (!cost->is_held) passes[HU_COST_FORWARD] *= layer->forwards;
    if (!layer->has_errors) passes[HU_COST_ERROR] = 0.0;
    if (!layer->has_updates) passes[HU_COST_UPDATE] = 0.0;
}

double hu_cost_forward(const hu_cost *cost, const hu_cost_task *task, const hu_bits_layer *layer,
                       double b) {
    double passes[HU_COST_PASSES];
    const hu_cost_bits bits = {b, b, b, b, false}; /* gradients play no part in the forward pass */
    cost->passes(task, layer, &bits, passes);
    return passes[HU_COST_FORWARD];
}

double hu_cost_slope(const hu_cost *cost, const hu_cost_task *task, const hu_bits_layer *layer,
                     const hu_bits_range *range, double b) {
    double below = b - 1.0, above = b + 1.0;
    if (cost->slope) return cost->slope(layer, b);
    if (below < range->least) below = range->least;
    if (above > range->most) above = range->most;
    if (above <= below) return 0.0;
    return (hu_cost_forward(cost, task, layer, above) - hu_cost_forward(cost, task, layer, below)) /
           (above - below);
}

/* ---- cost bitops ---- */

/* Bit-operations: a multiply-accumulate of factors of p and q bits is p q of them. Source: Fu et
 * al., CPT and FracTrain; LDP, Eq. 4: there O (b/32)^2 with O = 32 32 MACs, which is the same. */

static void bitops_passes(const hu_cost_task *task, const hu_bits_layer *layer,
                          const hu_cost_bits *bits, double cost[HU_COST_PASSES]) {
    double macs = (double)layer->macs;
    (void)task;
    cost[HU_COST_FORWARD] = macs * bits->weight * bits->input;
    cost[HU_COST_ERROR] = macs * bits->weight * bits->gradient;
    cost[HU_COST_UPDATE] = macs * bits->input * bits->update;
}

static double bitops_slope(const hu_bits_layer *layer, double b) {
    return 2.0 * (double)layer->macs * b;
}

const hu_cost hu_cost_bitops = {.name = "bitops",
                                .unit = "bit-operations",
                                .help = "bits of both factors multiplied, per multiply-accumulate",
                                .inference = 1.0,
                                .passes = bitops_passes,
                                .slope = bitops_slope};

/* ---- cost memory ---- */

/* Bits that a step holds: of every input of a layer, kept for the backward pass, of the working
 * copy of the weights, which the batch shares, and of the gradient of the output. */

static void memory_passes(const hu_cost_task *task, const hu_bits_layer *layer,
                          const hu_cost_bits *bits, double cost[HU_COST_PASSES]) {
    double weights = (double)layer->weights / (double)task->batch;
    cost[HU_COST_FORWARD] = (double)layer->inputs * bits->input + weights * bits->weight;
    cost[HU_COST_ERROR] = (double)layer->outputs * bits->gradient;
    /* Reads what is present, unless it has a gradient of its own; float32 gradients of weights do
     * not change. */
    cost[HU_COST_UPDATE] = bits->is_apart ? (double)layer->outputs * bits->update : 0.0;
}

const hu_cost hu_cost_memory = {.name = "memory",
                                .unit = "bits",
                                .help = "inputs kept for the backward pass, weights, gradients",
                                .is_held = true,
                                .inference = 1.0,
                                .passes = memory_passes};

/* ---- cost paper ---- */

/* The unit of LDP's tables on CIFAR. Its numbers fit this rule: a layer has F = 2 MAC + 2 per
 * element of a batch norm + 1 per element of a relu + 1 per element of an addition of branches; a
 * pass of training takes F p q / 2, a sample at inference F b b / 4. Source: found from tables 1 to
 * 3 of the paper, which does not give the rule; docs/results/bits.md compares. */

static void paper_passes(const hu_cost_task *task, const hu_bits_layer *layer,
                         const hu_cost_bits *bits, double cost[HU_COST_PASSES]) {
    double half = 0.5 * (double)(2 * layer->macs + layer->others);
    (void)task;
    cost[HU_COST_FORWARD] = half * bits->weight * bits->input;
    cost[HU_COST_ERROR] = half * bits->weight * bits->gradient;
    cost[HU_COST_UPDATE] = half * bits->input * bits->update;
}

static double paper_slope(const hu_bits_layer *layer, double b) {
    return (double)(2 * layer->macs + layer->others) * b;
}

const hu_cost hu_cost_paper = {.name = "paper",
                               .unit = "bit-operations as LDP's tables count them",
                               .help = "with those of batch norms, relus and additions",
                               .inference = 0.5,
                               .passes = paper_passes,
                               .slope = paper_slope};

/* ---- cost table ---- */

/* A user's cost per multiply-accumulate by formats: energy, cycles or area of an accelerator. */

enum { NONE = 0 };

/* Bits of the format that text[length] names, NONE if it is no format of this kind. */
static uint32_t bits_named(const hu_bits *bits, const char *text, size_t length) {
    char name[HU_BITS_NAME_BYTES];
    for (uint32_t b = HU_BITS_LEAST; b <= HU_BITS_FLOAT32; b++) {
        if (b > HU_BITS_MOST && b < HU_BITS_FLOAT32) continue;
        if (bits->kind == HU_BITS_FLOAT && b <= bits->exponent_bits) continue;
        hu_bits_name(bits->kind, bits->exponent_bits, b, name);
        if (strlen(name) == length && memcmp(name, text, length) == 0) return b;
    }
    return NONE;
}

/* Whether it names a format at all, of this kind or another: "int6", "e5m2", "bf16". */
static bool is_format(const char *text, size_t length) {
    hu_bits integers = {.kind = HU_BITS_INTEGER};
    char name[64];
    hu_format format;
    if (length >= sizeof name) return false;
    snprintf(name, sizeof name, "%.*s", (int)length, text);
    return bits_named(&integers, name, length) != NONE || hu_format_parse(name, &format) == HU_OK;
}

/* "int4" or "int4*int8". A pair has one cost, whichever factor comes first. */
static hu_status read_row(const hu_keys *row, const hu_bits *bits, hu_cost_rates *rates) {
    const char *name = hu_keys_name(row);
    size_t first = strcspn(name, "*");
    const char *rest = name[first] ? name + first + 1 : name;
    uint32_t a = bits_named(bits, name, first), b = bits_named(bits, rest, strlen(rest));
    double cost;
    if (!is_format(name, first) || !is_format(rest, name[first] ? strlen(rest) : first))
        return hu_fail(HU_ERR_PARSE,
                       "%s: found a cost of '%s', expected formats like int6, e5m2 or int4*int6",
                       hu_keys_origin(row), name);
    hu_status st = hu_keys_as_f64(row, &cost);
    if (st != HU_OK) return st;
    if (!isfinite(cost) || cost < 0.0) return hu_keys_fail(row, "a cost of at least 0");
    if (a == NONE || b == NONE) return HU_OK;
    if (!isnan(rates->cost[a][b]))
        return hu_keys_fail(row, "one cost of two factors, in either order");
    rates->cost[a][b] = rates->cost[b][a] = cost;
    return HU_OK;
}

/* Factors of two formats are computed like two of the dearer one, unless the table says more. */
static void fill_pairs(hu_cost_rates *rates) {
    for (int a = 0; a <= HU_BITS_FLOAT32; a++)
        for (int b = 0; b < a; b++) {
            if (!isnan(rates->cost[a][b])) continue;
            double dearer = fmax(rates->cost[a][a], rates->cost[b][b]);
            bool both = !isnan(rates->cost[a][a]) && !isnan(rates->cost[b][b]);
            rates->cost[a][b] = rates->cost[b][a] = both ? dearer : NAN;
        }
}

/* who: "" for what layers read, else what else has that format. */
static hu_status missing(const hu_bits *bits, const hu_bits_range *range, uint32_t b,
                         const char *who) {
    char name[3][HU_BITS_NAME_BYTES];
    hu_bits_name(bits->kind, bits->exponent_bits, b, name[0]);
    hu_bits_name(bits->kind, bits->exponent_bits, range->least, name[1]);
    hu_bits_name(bits->kind, bits->exponent_bits, range->most, name[2]);
    return hu_fail(HU_ERR_ARGUMENT,
                   "cost table: found no cost of %s, expected one for every format from %s to %s%s",
                   name[0], name[1], name[2], who);
}

/* Every format that a layer or a gradient can have. */
static hu_status check(const hu_bits *bits, const hu_cost_rates *rates) {
    static const char *const who[] = {"", ", those of gradients (bits.grad)"};
    const hu_bits_range covered = hu_bits_covered(bits);
    const hu_bits_range *ranges[] = {&covered, &bits->gradient};
    for (int r = 0; r < (bits->gradient_follows ? 1 : 2); r++)
        for (uint32_t b = ranges[r]->least; b <= ranges[r]->most; b++)
            if (isnan(rates->cost[b][b])) return missing(bits, ranges[r], b, who[r]);
    for (uint32_t i = 0; i < bits->gradient_turn_count; i++) {
        uint32_t b = bits->gradient_turn[i];
        if (isnan(rates->cost[b][b]))
            return missing(bits, &(hu_bits_range){b, b}, b, ", of bits.grad_turns");
    }
    uint32_t apart = bits->gradient_of_weights;
    if (apart > 0 && isnan(rates->cost[apart][apart]))
        return missing(bits, &(hu_bits_range){apart, apart}, apart, ", that of bits.grad_weights");
    return HU_OK;
}

/* Another key is a slip of the pen: it would be passed over. */
static hu_status check_keys(const hu_keys *tree) {
    for (size_t i = 0; i < hu_keys_count(tree); i++) {
        const hu_keys *key = hu_keys_at(tree, i);
        const char *name = hu_keys_name(key);
        if (strcmp(name, "unit") == 0 || strcmp(name, "formats") == 0) continue;
        return hu_fail(HU_ERR_PARSE, "%s: found key '%s', expected unit and formats",
                       hu_keys_origin(key), name);
    }
    return HU_OK;
}

hu_status hu_cost_rates_read(const hu_keys *tree, const hu_bits *bits, hu_cost_rates *rates) {
    hu_status st = HU_OK;
    const hu_keys *unit = hu_keys_find(tree, "unit"), *formats = hu_keys_find(tree, "formats");
    const char *text = "of the table";
    *rates = (hu_cost_rates){0};
    for (int a = 0; a <= HU_BITS_FLOAT32; a++)
        for (int b = 0; b <= HU_BITS_FLOAT32; b++) rates->cost[a][b] = NAN;
    if (!formats || hu_keys_kind_of(formats) != HU_KEYS_MAP)
        return hu_fail(HU_ERR_PARSE, "cost table: expected a map 'formats' of costs by format");
    HU_TRY(check_keys(tree));
    if (unit) HU_TRY(hu_keys_as_text(unit, &text));
    snprintf(rates->unit, sizeof rates->unit, "%s", text);
    for (size_t i = 0; i < hu_keys_count(formats); i++)
        HU_TRY(read_row(hu_keys_at(formats, i), bits, rates));
    fill_pairs(rates);
    HU_TRY(check(bits, rates));
done:
    return st;
}

/* Between two numbers of bits on a straight line. */
static double cost_of(const hu_cost_rates *rates, double a, double b) {
    int low_a = (int)floor(a), low_b = (int)floor(b);
    int high_a = (int)ceil(a), high_b = (int)ceil(b);
    double low = rates->cost[low_a][low_b], high = rates->cost[high_a][high_b];
    double part = fmax(a - floor(a), b - floor(b));
    return part > 0.0 ? low + part * (high - low) : low;
}

static void table_passes(const hu_cost_task *task, const hu_bits_layer *layer,
                         const hu_cost_bits *bits, double cost[HU_COST_PASSES]) {
    double macs = (double)layer->macs;
    cost[HU_COST_FORWARD] = macs * cost_of(task->rates, bits->weight, bits->input);
    cost[HU_COST_ERROR] = macs * cost_of(task->rates, bits->weight, bits->gradient);
    cost[HU_COST_UPDATE] = macs * cost_of(task->rates, bits->input, bits->update);
}

const hu_cost hu_cost_table = {.name = "table",
                               .unit = "of the table",
                               .help = "what cost.file says of a multiply-accumulate by formats",
                               .needs_table = true,
                               .inference = 1.0,
                               .passes = table_passes};

/* ---- cost traffic ---- */

/* Bits that the products read from memory, each factor once; the batch shares a reading of the
 * weights. What they write is float32 whatever the bits are, and is not counted. */

static void traffic_passes(const hu_cost_task *task, const hu_bits_layer *layer,
                           const hu_cost_bits *bits, double cost[HU_COST_PASSES]) {
    double inputs = (double)layer->inputs * bits->input;
    double weights = (double)layer->weights * bits->weight / (double)task->batch;
    double gradients = (double)layer->outputs * bits->gradient;
    cost[HU_COST_FORWARD] = inputs + weights;
    cost[HU_COST_ERROR] = gradients + weights;
    cost[HU_COST_UPDATE] = (double)layer->outputs * bits->update + inputs;
}

const hu_cost hu_cost_traffic = {.name = "traffic",
                                 .unit = "bits",
                                 .help = "what the products read from memory",
                                 .inference = 1.0,
                                 .passes = traffic_passes};
