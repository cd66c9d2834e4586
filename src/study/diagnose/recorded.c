#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "diagnose/failures.h"
#include "diagnose/remedy.h"
#include "runlog/history.h"

/* ---- recorded ---- */

/* The numbers of all rounded tensors of a run, as its histograms hold them:
 * what other ways of rounding are tried on. */

/* Histograms that are looked at: enough to see numbers grow and shrink over a training. */
enum { LOOKS = 8 };

/* log2 of the loss scale at a step. */
static int32_t scale_at(const hu_history *history, int64_t step) {
    return ilogb(hu_history_loss_scale(history, step));
}

/* ---- tensors ---- */

static hu_role role_of(const hu_tensor_order *walk, uint32_t place) {
    hu_tensor tensor = walk->tensor[place];
    bool is_parameter = walk->graph->value[tensor.value].role == HU_VALUE_PARAMETER;
    if (tensor.kind == HU_TENSOR_VALUE) return is_parameter ? HU_ROLE_WEIGHT : HU_ROLE_ACT;
    return is_parameter ? HU_ROLE_WEIGHT_GRAD : HU_ROLE_ACT_GRAD;
}

/* Its latest format, and its largest number so far. */
static void take_row(const hu_why *why, const hu_numerics_record *row, const int64_t *number,
                     hu_recorded *recorded) {
    int32_t scale = scale_at(why->history, row->step);
    for (uint32_t i = 0; i < row->tensor_count; i++) {
        const hu_tensor_record *record = &row->tensor[i];
        int64_t t = number[record->tensor];
        int32_t most = record->counts.max_exponent;
        if (t < 0 || most == HU_NO_EXPONENT) continue;
        hu_recorded_tensor *tensor = &recorded->tensor[t];
        if (hu_is_backward(tensor->role)) most -= scale;
        if (tensor->top == HU_NO_EXPONENT || most > tensor->top) tensor->top = most;
    }
}

/* The latest format in which the history has a tensor, NULL: it was never rounded. */
static const char *format_of(const hu_why *why, uint32_t name) {
    const hu_history *history = why->history;
    for (size_t r = history->numerics_count; r-- > 0;)
        for (uint32_t i = 0; i < history->numerics[r].tensor_count; i++) {
            const hu_tensor_record *record = &history->numerics[r].tensor[i];
            if (record->tensor == name && why->rounds[record->format])
                return history->formats.name[record->format];
        }
    return NULL;
}

/* number: of each name of the history, its place in the list; -1. */
static hu_status add_tensor(const hu_why *why, uint32_t place, int64_t *number,
                            hu_recorded *recorded) {
    hu_tensor_kind kind = why->walk->tensor[place].kind;
    uint32_t name = why->tensor[place];
    if (kind == HU_TENSOR_WIRE || kind == HU_TENSOR_WIRE_SUM || name == HU_NAMES_NONE ||
        hu_tensor_is_state(why->walk->tensor[place]) || hu_why_is_loss_output(why, place))
        return HU_OK;
    const char *format = format_of(why, name);
    if (!format) return HU_OK;
    hu_recorded_tensor tensor = {.place = place,
                                 .role = role_of(why->walk, place),
                                 .top = HU_NO_EXPONENT,
                                 .is_small = hu_why_may_vanish(why, place),
                                 .source = HU_NONE};
    hu_status st = hu_quantizer_parse(format, HU_ROUND_NEAREST_EVEN, &tensor.now);
    if (st != HU_OK) return st;
    number[name] = (int64_t)recorded->count;
    recorded->tensor[recorded->count++] = tensor;
    return HU_OK;
}

/* ---- samples ---- */

/* The histogram that is looked at as number `look`. */
static const hu_histogram_record *histogram_at(const hu_history *history, size_t look,
                                               size_t looks) {
    size_t last = history->histogram_count - 1;
    return &history->histograms[looks < 2 ? 0 : look * last / (looks - 1)];
}

/* Counts the samples of each tensor, or puts them where they belong. */
static void take_histogram(const hu_history *history, const hu_histogram_record *record,
                           const int64_t *number, bool is_counting, hu_recorded *recorded) {
    int32_t scale = scale_at(history, record->step);
    bool skipped = hu_history_was_skipped(history, record->step);
    for (uint32_t i = 0; i < record->count; i++) {
        const hu_exponents *x = &record->tensor[i].exponents;
        int64_t t = number[record->tensor[i].tensor];
        if (t < 0 || hu_exponents_top(x) == HU_NO_EXPONENT) continue;
        hu_recorded_tensor *tensor = &recorded->tensor[t];
        if (!is_counting)
            recorded->sample[tensor->first + tensor->samples] =
                (hu_recorded_sample){x, hu_is_backward(tensor->role) ? scale : 0, skipped};
        tensor->samples++;
    }
}

static hu_status take_histograms(const hu_history *history, const int64_t *number, bool only_first,
                                 hu_recorded *recorded) {
    uint32_t samples = 0;
    size_t most = only_first ? 1 : LOOKS;
    size_t looks = history->histogram_count < most ? history->histogram_count : most;
    recorded->histograms = (int64_t)looks;
    for (size_t l = 0; l < looks; l++)
        take_histogram(history, histogram_at(history, l, looks), number, true, recorded);
    for (uint32_t t = 0; t < recorded->count; t++) {
        recorded->tensor[t].first = samples;
        samples += recorded->tensor[t].samples;
        recorded->tensor[t].samples = 0;
    }
    hu_status st = HU_NEW_ARRAY(&recorded->sample, (size_t)samples + 1);
    for (size_t l = 0; l < looks && st == HU_OK; l++)
        take_histogram(history, histogram_at(history, l, looks), number, false, recorded);
    return st;
}

/* ---- tensors of which nothing is told ---- */

/* Number of the tensor at a place, HU_NONE: it is not rounded. */
static uint32_t tensor_at(const hu_recorded *recorded, uint32_t place) {
    for (uint32_t t = 0; t < recorded->count; t++)
        if (recorded->tensor[t].place == place) return t;
    return HU_NONE;
}

/* Whether numbers of one may stand for those of the other: both forward or both backward, and no
 * parameter for what is made with it. */
static bool may_stand(const hu_recorded_tensor *source, bool is_backward) {
    return source->role != HU_ROLE_WEIGHT && source->role != HU_ROLE_WEIGHT_GRAD &&
           hu_is_backward(source->role) == is_backward && source->source != HU_NONE;
}

/* The tensor that stands for what a place is made of, HU_NONE: none; *next: where to look on. */
static uint32_t find_source(const hu_recorded *recorded, const hu_tensor_order *walk,
                            uint32_t place, bool is_backward, uint32_t *next) {
    enum { ROOM = 16 };
    uint32_t source[ROOM], count = hu_tensor_order_sources(walk, place, ROOM, source);
    *next = HU_NONE;
    for (uint32_t i = 0; i < count && i < ROOM; i++) {
        uint32_t s = tensor_at(recorded, source[i]);
        if (s != HU_NONE && may_stand(&recorded->tensor[s], is_backward))
            return recorded->tensor[s].source;
        bool is_gradient = walk->tensor[source[i]].kind != HU_TENSOR_VALUE;
        if (*next == HU_NONE && is_gradient == is_backward) *next = source[i];
    }
    return HU_NONE;
}

/* Tensors that are not rounded are passed through: the walk leads back to the data or the loss. */
static uint32_t stand_in(const hu_recorded *recorded, const hu_tensor_order *walk, uint32_t t) {
    uint32_t place = recorded->tensor[t].place, found = HU_NONE;
    bool is_backward = hu_is_backward(recorded->tensor[t].role);
    while (place != HU_NONE && found == HU_NONE)
        found = find_source(recorded, walk, place, is_backward, &place);
    return found;
}

hu_status hu_recorded_create(const hu_run_record *run, const hu_why *why, bool only_first,
                             hu_recorded *recorded) {
    hu_status st = HU_OK;
    const hu_history *history = run->history;
    int64_t *number = NULL;
    *recorded = (hu_recorded){.is_early = !why->trains_well};
    HU_TRY(HU_NEW_ARRAY(&recorded->tensor, (size_t)run->walk.count + 1));
    HU_TRY(HU_NEW_ARRAY(&number, (size_t)history->tensors.count + 1));
    for (uint32_t n = 0; n < history->tensors.count; n++) number[n] = -1;
    for (uint32_t place = 0; place < run->walk.count; place++)
        HU_TRY(add_tensor(why, place, number, recorded));
    for (size_t r = 0; r < history->numerics_count && (r == 0 || !only_first); r++)
        take_row(why, &history->numerics[r], number, recorded);
    HU_TRY(take_histograms(history, number, only_first, recorded));
    for (uint32_t t = 0; t < recorded->count; t++)
        recorded->tensor[t].source =
            recorded->tensor[t].samples ? t : stand_in(recorded, &run->walk, t);
done:
    hu_free(number);
    if (st != HU_OK) hu_recorded_free(recorded);
    return st;
}

void hu_recorded_free(hu_recorded *recorded) {
    hu_free(recorded->tensor);
    hu_free(recorded->sample);
    *recorded = (hu_recorded){0};
}

/* ---- How a run rounds and scales by its own configuration ---- */

static const char *text_of(const hu_run_record *run, const char *key) {
    const hu_keys *node = hu_keys_find(run->config, key);
    return node && hu_keys_kind_of(node) == HU_KEYS_TEXT ? hu_keys_value(node) : "";
}

bool hu_same_range(const hu_quantizer *a, const hu_quantizer *b) {
    hu_quantizer other = *b;
    other.format.overflow = a->format.overflow;
    return hu_quantizer_same_numbers(a, &other);
}

/* The quantizer that most tensors of the role have. */
static void find_usual(const hu_recorded *recorded, hu_role role, hu_quantizer *usual) {
    uint32_t most = 0;
    for (uint32_t t = 0; t < recorded->count; t++) {
        uint32_t equal = 0;
        if (recorded->tensor[t].role != role) continue;
        for (uint32_t o = t; o < recorded->count; o++)
            equal += recorded->tensor[o].role == role &&
                     hu_same_range(&recorded->tensor[o].now, &recorded->tensor[t].now);
        if (equal <= most) continue;
        most = equal;
        *usual = recorded->tensor[t].now;
    }
}

/* Lists by epoch, plans and schedules of bits are read by nobody here: what tensors have tells. */
static void read_precision(const hu_recorded *recorded, hu_setup *setup) {
    bool is_read = hu_precision_parse(setup->precision, &setup->parsed) == HU_OK;
    setup->is_by_role = is_read && !setup->parsed.bits.schedule && !setup->parsed.is_resolved &&
                        !setup->parsed.assignment.kind;
    for (int r = 0; r < HU_ROLE_COUNT; r++) {
        if (setup->is_by_role) setup->usual[r] = setup->parsed.role[r];
        if (!setup->is_by_role) find_usual(recorded, (hu_role)r, &setup->usual[r]);
    }
}

static void read_scaler(const hu_run_record *run, hu_setup *setup) {
    double init = atof(text_of(run, "scaler.init"));
    if (hu_loss_scale_parse(text_of(run, "scaler.name"), &setup->scaler) != HU_OK)
        setup->scaler = HU_LOSS_SCALE_NONE;
    setup->scale = init > 0.0 && setup->scaler != HU_LOSS_SCALE_NONE ? ilogb(init) : 0;
}

hu_status hu_setup_read(const hu_run_record *run, const hu_why *why, const hu_recorded *recorded,
                        hu_setup *setup) {
    *setup = (hu_setup){0};
    if (!run->config)
        return hu_fail(HU_ERR_MISSING, "%s: found no config.resolved.yaml that can be read",
                       run->folder);
    setup->precision = text_of(run, "precision.name");
    setup->rules = hu_keys_find(run->config, "precision.rules");
    setup->accumulator = text_of(run, "accumulator.name");
    const hu_keys *rules = hu_keys_find(run->config, "accumulator.rules");
    setup->has_accumulator_rules = rules && hu_keys_count(rules) > 0;
    read_precision(recorded, setup);
    setup->needs_masters =
        strcmp(text_of(run, "precision.master"), "off") == 0 && hu_failures_lose_updates(why);
    setup->needs_accumulator = hu_failures_fail_sums(why) || hu_sums_suspected(&why->death) ||
                               hu_sums_suspected(&why->end);
    read_scaler(run, setup);
    return HU_OK;
}

void hu_setup_free(hu_setup *setup) {
    hu_precision_free(&setup->parsed);
    *setup = (hu_setup){0};
}
