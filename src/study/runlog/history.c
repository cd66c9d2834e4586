/* Opening the files of a run folder and taking them apart line by line. */
#include "runlog/history.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/text_file.h"
#include "render/json.h"
#include "runlog/events.h"
#include "runlog/folder.h"
#include "runlog/graph_json.h"
#include "runlog/history_reader.h"
#include "runlog/run_list.h"

/* Frees what a row, or the histograms of a step, hold. */
static void numerics_record_free(hu_numerics_record *record) {
    hu_free(record->tensor);
    hu_free(record->product);
    hu_free(record->update);
    *record = (hu_numerics_record){0};
}

static void histogram_record_free(hu_histogram_record *record) {
    for (uint32_t k = 0; k < record->count; k++) hu_free(record->tensor[k].exponents.bin);
    hu_free(record->tensor);
    *record = (hu_histogram_record){0};
}

/* Place of a row's tensor in this format. Rows list tensors in one order: it is probably at the
 * hint. count: it is missing. */
static uint32_t find_tensor(const hu_numerics_record *record, const hu_tensor_record *wanted,
                            uint32_t hint) {
    for (uint32_t i = 0; i < record->tensor_count; i++) {
        uint32_t at = (hint + i) % record->tensor_count;
        const hu_tensor_record *tensor = &record->tensor[at];
        if (tensor->tensor == wanted->tensor && tensor->format == wanted->format) return at;
    }
    return record->tensor_count;
}

static void add_tensor(hu_tensor_record *to, const hu_tensor_record *from) {
    hu_round_counts_add(&to->counts, &from->counts);
    to->most_overflow = fmax(to->most_overflow, from->most_overflow);
    to->most_underflow = fmax(to->most_underflow, from->most_underflow);
    if (from->most_subnormal > to->most_subnormal) to->subnormal_step = from->subnormal_step;
    to->most_subnormal = fmax(to->most_subnormal, from->most_subnormal);
    to->lines += from->lines;
}

static hu_status add_tensors(hu_numerics_record *to, const hu_numerics_record *from) {
    size_t capacity = to->tensor_count;
    uint32_t hint = 0;
    for (uint32_t k = 0; k < from->tensor_count; k++) {
        uint32_t at = find_tensor(to, &from->tensor[k], hint);
        if (at < to->tensor_count) {
            add_tensor(&to->tensor[at], &from->tensor[k]);
        } else {
            hu_status st = hu_grow(&to->tensor, to->tensor_count, &capacity, sizeof *to->tensor);
            if (st != HU_OK) return st;
            to->tensor[to->tensor_count++] = from->tensor[k];
        }
        hint = at + 1;
    }
    return HU_OK;
}

static hu_status add_product(hu_numerics_record *to, const hu_product_record *from,
                             size_t *capacity) {
    for (uint32_t i = 0; i < to->product_count; i++) {
        hu_product_record *product = &to->product[i];
        if (product->product != from->product || product->accumulator != from->accumulator)
            continue;
        product->values += from->values;
        product->subnormal += from->subnormal;
        product->overflow += from->overflow;
        product->terms += from->terms;
        product->stalled += from->stalled;
        product->most_subnormal = fmax(product->most_subnormal, from->most_subnormal);
        product->most_overflow = fmax(product->most_overflow, from->most_overflow);
        product->most_stalled = fmax(product->most_stalled, from->most_stalled);
        product->lines += from->lines;
        return HU_OK;
    }
    hu_status st = hu_grow(&to->product, to->product_count, capacity, sizeof *to->product);
    if (st == HU_OK) to->product[to->product_count++] = *from;
    return st;
}

static hu_status add_update(hu_numerics_record *to, const hu_update_record *from,
                            size_t *capacity) {
    for (uint32_t i = 0; i < to->update_count; i++) {
        hu_update_record *update = &to->update[i];
        if (update->tensor != from->tensor) continue;
        update->asked += from->asked;
        update->lost += from->lost;
        update->small += from->small;
        update->lines += from->lines;
        return HU_OK;
    }
    hu_status st = hu_grow(&to->update, to->update_count, capacity, sizeof *to->update);
    if (st == HU_OK) to->update[to->update_count++] = *from;
    return st;
}

/* The row after another one into that. */
static hu_status add_row(hu_numerics_record *to, const hu_numerics_record *from) {
    hu_status st = HU_OK;
    size_t products = to->product_count, updates = to->update_count;
    HU_TRY(add_tensors(to, from));
    for (uint32_t i = 0; i < from->product_count; i++)
        HU_TRY(add_product(to, &from->product[i], &products));
    for (uint32_t i = 0; i < from->update_count; i++)
        HU_TRY(add_update(to, &from->update[i], &updates));
    to->step = from->step;
    to->steps += from->steps;
    to->skipped = to->skipped && from->skipped;
    to->has_held = to->has_held && from->has_held;
    to->lines += from->lines;
done:
    return st;
}

static hu_numerics_record moved_from(hu_numerics_record *row) {
    hu_numerics_record taken = *row;
    *row = (hu_numerics_record){0};
    return taken;
}

/* Rows that may be told as one. A brief history tells no steps apart. */
static bool are_alike(const hu_history *history, const hu_numerics_record *a,
                      const hu_numerics_record *b) {
    return history->brief_tail == 0 || a->skipped == b->skipped;
}

/* Pairs of rows become one row each, from the second row on up to the tail; any: also a skipped one
 * with another. */
static hu_status halve(hu_history *history, bool any) {
    hu_status st = HU_OK;
    size_t kept = 1, end = history->numerics_count - history->brief_tail;
    hu_numerics_record *row = history->numerics;
    for (size_t i = 1; i < end; i++) {
        hu_numerics_record moved = moved_from(&row[i]);
        bool joins = i + 1 < end && (any || are_alike(history, &moved, &row[i + 1]));
        if (joins) {
            i++;
            st = st == HU_OK ? add_row(&moved, &row[i]) : st;
            numerics_record_free(&row[i]);
        }
        row[kept++] = moved;
    }
    for (size_t i = end; i < history->numerics_count; i++) row[kept++] = moved_from(&row[i]);
    history->numerics_count = kept;
    return st;
}

/* Rows that fit into brief_bytes, by the first one, if these are more. */
static size_t most_rows(const hu_history *history) {
    size_t bytes = history->numerics[0].tensor_count * sizeof(hu_tensor_record) + 1;
    size_t fit = history->brief_bytes / bytes;
    return fit > history->brief_most ? fit : history->brief_most;
}

/* The row that leaves the tail goes to the one before it, if that has room. */
hu_status hu_history_add_up(hu_history *history) {
    size_t count = history->numerics_count, tail = history->brief_tail;
    hu_status st = HU_OK;
    if (history->brief_most == 0 || count <= tail + 2) return HU_OK;
    hu_numerics_record *last = &history->numerics[count - 1 - tail];
    if (last[-1].lines < history->brief_lines && are_alike(history, &last[-1], last)) {
        st = add_row(&last[-1], last);
        numerics_record_free(last);
        memmove(last, last + 1, tail * sizeof *last);
        history->numerics_count--;
        return st;
    }
    size_t most = most_rows(history);
    if (count <= most + tail) return HU_OK;
    history->brief_lines *= 2;
    HU_TRY(halve(history, false));
    size_t room = tail + (most > 2 ? most - most / 4 : 2); /* the first row stays by itself */
    while (history->numerics_count > room) HU_TRY(halve(history, true));
done:
    return st;
}

static size_t bytes_of(const hu_histogram_record *record) {
    size_t bytes = record->count * sizeof *record->tensor;
    for (uint32_t k = 0; k < record->count; k++)
        bytes += record->tensor[k].exponents.count * sizeof *record->tensor[k].exponents.bin;
    return bytes;
}

static void forget(hu_history *history, hu_histogram_record *record) {
    history->histogram_bytes -= bytes_of(record);
    histogram_record_free(record);
}

void hu_history_thin(hu_history *history) {
    hu_histogram_record *record = history->histograms;
    size_t most = history->brief_histograms, count = history->histogram_count, kept = 0;
    history->histogram_bytes += bytes_of(&record[count - 1]);
    if (most == 0 || count < 3) return;
    /* The one before the latest was kept for being that. */
    if (most == 2 || record[count - 2].number % history->brief_stride != 0) {
        forget(history, &record[count - 2]);
        record[count - 2] = record[count - 1];
        history->histogram_count = --count;
    }
    if (count <= most || history->histogram_bytes <= history->brief_bytes) return;
    history->brief_stride *= 2;
    for (size_t i = 0; i < count; i++) {
        if (i + 1 < count && record[i].number % history->brief_stride != 0)
            forget(history, &record[i]);
        else
            record[kept++] = record[i];
    }
    history->histogram_count = kept;
}

typedef hu_status line_fn(hu_history *history, const hu_place *place, const json_t *line);

static hu_status read_line(hu_history *history, const hu_place *place, const char *text,
                           size_t bytes, line_fn *take) {
    json_error_t error;
    json_t *line;
    hu_status st = hu_json_parse(text, bytes, &line, &error);
    if (st == HU_ERR_CORRUPT)
        return hu_place_fail(place, "column %d: no JSON: %s", error.column, error.text);
    if (st != HU_OK) return st;
    st = json_is_object(line) ? take(history, place, line)
                              : hu_place_fail(place, "found no object, expected {...}");
    json_decref(line);
    return st;
}

static void warn(hu_history *history, const char *file, const char *what, size_t line) {
    hu_note_add(history->warning, sizeof history->warning, "; ", what, file, line);
}

/* The rest of a line whose beginning never reached the disk, or one with a hole: what crashes and
 * full disks left in folders of older versions. */
static bool is_part(const hu_line *line) {
    return line->bytes == 0 || line->text[0] != '{' || memchr(line->text, 0, line->bytes);
}

/* Parts of lines are left out, as is a last line without an end, which an interrupted write leaves.
 */
static hu_status read_lines(hu_history *history, const char *name, bool may_miss, line_fn *take) {
    hu_status st = HU_OK;
    hu_place place = {history->folder, name, 0};
    hu_lines *lines = NULL;
    hu_line line;
    bool is_present;
    char *path = NULL;
    size_t parts = 0, first_part = 0;
    HU_TRY(hu_path_join(history->folder, name, &path));
    st = hu_lines_open(path, &lines);
    if (st == HU_ERR_MISSING && may_miss) st = HU_OK;
    while (st == HU_OK && lines) {
        HU_TRY(hu_lines_next(lines, &line, &is_present));
        if (!is_present) break;
        place.line++;
        if (!line.has_end) {
            warn(history, name, "%s: line %zu has no end and is left out", place.line);
            break;
        }
        if (!is_part(&line)) {
            st = read_line(history, &place, line.text, line.bytes, take);
            continue;
        }
        if (parts++ == 0) first_part = place.line;
    }
    if (parts > 0)
        warn(history, name, "%s: line %zu, or more, are parts of lines and left out", first_part);
done:
    hu_lines_close(lines);
    hu_free(path);
    return st;
}

static hu_status read_plan(hu_history *history) {
    hu_place place = {history->folder, "plan.json", 1};
    json_t *object;
    hu_status st = hu_json_read(&place, &object);
    if (object) st = hu_history_plan(&place, object, &history->plan);
    json_decref(object);
    return st;
}

/* The run's own word on how it ended. */
static hu_status read_result(hu_history *history) {
    json_t *result;
    hu_status st = hu_result_read(history->folder, &result);
    if (st != HU_OK) return st;
    const char *reason = json_string_value(json_object_get(result, "diverged"));
    const char *collapse = json_string_value(json_object_get(result, "collapsed"));
    if (reason) st = hu_strdup(reason, &history->diverged);
    if (collapse && st == HU_OK) st = hu_strdup(collapse, &history->collapsed);
    json_decref(result);
    return st;
}

static hu_status check_folder(const char *folder) {
    char *path = NULL;
    hu_status st = hu_run_folder_config(folder, &path);
    hu_free(path);
    return st;
}

/* Takes a file's failure as a warning: what it would have told is left out. */
static hu_status forgive(hu_history *history, hu_status status) {
    if (status == HU_OK || status == HU_ERR_MEMORY) return status;
    hu_note_add(history->warning, sizeof history->warning, "; ", "%s", hu_last_error());
    return HU_OK;
}

/* What is read of a folder. */
typedef enum extent {
    WHOLE,   /* all files; one that misses or is damaged is a failure */
    LENIENT, /* only a folder that is no run at all is a failure */
    BRIEF,   /* the same, in bounded memory */
    BOUNDED, /* as WHOLE, in bounded memory */
    METRICS  /* metrics.jsonl alone */
} extent;

static hu_status read_all(hu_history *history, extent wanted) {
    hu_status st = HU_OK;
    bool is_lenient = wanted == LENIENT || wanted == BRIEF;
    static const struct {
        const char *name;
        bool may_miss;
        line_fn *take;
    } files[] = {{"metrics.jsonl", false, hu_history_metrics},
                 {"numerics.jsonl", false, hu_history_numerics},
                 {"bits.jsonl", true, hu_history_bits},
                 {"histograms.jsonl", true, hu_history_histogram}};
    size_t count = wanted == METRICS ? 1 : sizeof files / sizeof *files;
    st = hu_graph_metric(history->folder, &history->metric);
    HU_TRY(is_lenient ? forgive(history, st) : st);
    for (size_t i = 0; i < count; i++) {
        st = read_lines(history, files[i].name, files[i].may_miss, files[i].take);
        HU_TRY(is_lenient ? forgive(history, st) : st);
    }
    if (wanted == METRICS) goto done;
    st = read_plan(history);
    HU_TRY(is_lenient ? forgive(history, st) : st);
    /* All others tell the story without it. */
    st = forgive(history, read_result(history));
done:
    return st;
}

static hu_status read_folder(const char *folder, extent wanted, hu_history **result) {
    hu_status st = HU_OK;
    void *block = NULL;
    *result = NULL;
    HU_TRY(check_folder(folder));
    HU_TRY(hu_alloc(sizeof(hu_history), &block));
    hu_history *history = block;
    history->metric = &hu_metric_accuracy;
    bool is_bounded = wanted == BOUNDED;
    history->brief_most = wanted == BRIEF || is_bounded ? HU_BRIEF_ROWS : 0;
    history->brief_tail = is_bounded ? HU_BRIEF_TAIL : 0;
    history->brief_histograms = is_bounded ? HU_BRIEF_HISTOGRAMS : wanted == BRIEF ? 2 : 0;
    history->brief_bytes = is_bounded ? HU_BRIEF_BYTES : 0;
    history->brief_lines = history->brief_stride = 1;
    HU_TRY(hu_strdup(folder, &history->folder));
    HU_TRY(read_all(history, wanted));
    *result = history;
    block = NULL;
done:
    hu_history_free(block);
    return st;
}

hu_status hu_history_read(const char *folder, hu_history **history) {
    return read_folder(folder, WHOLE, history);
}

hu_status hu_history_read_some(const char *folder, hu_history **history) {
    return read_folder(folder, LENIENT, history);
}

hu_status hu_history_read_brief(const char *folder, hu_history **history) {
    return read_folder(folder, BRIEF, history);
}

hu_status hu_history_read_bounded(const char *folder, hu_history **history) {
    return read_folder(folder, BOUNDED, history);
}

hu_status hu_history_read_metrics(const char *folder, hu_history **history) {
    return read_folder(folder, METRICS, history);
}

void hu_history_free(hu_history *history) {
    if (!history) return;
    for (size_t i = 0; i < history->metrics_count; i++) hu_free(history->metrics[i].culprit);
    for (size_t i = 0; i < history->numerics_count; i++)
        numerics_record_free(&history->numerics[i]);
    for (size_t i = 0; i < history->event_count; i++) hu_free(history->events[i].kind);
    for (size_t i = 0; i < history->histogram_count; i++)
        histogram_record_free(&history->histograms[i]);
    for (size_t i = 0; i < history->bits_count; i++) hu_free(history->bits[i].change);
    hu_free(history->bits);
    hu_names_free(&history->layers);
    hu_names_free(&history->event_names);
    hu_free(history->first_event);
    hu_names_free(&history->tensors);
    hu_names_free(&history->formats);
    hu_names_free(&history->products);
    hu_history_plan_free(history->plan);
    hu_free(history->metrics);
    hu_free(history->numerics);
    hu_free(history->skips);
    hu_free(history->events);
    for (size_t i = 0; i < history->phase_count; i++) hu_free(history->phases[i].precision);
    hu_free(history->promotions);
    hu_free(history->phases);
    hu_free(history->histograms);
    hu_free(history->diverged);
    hu_free(history->collapsed);
    hu_free(history->folder);
    hu_free(history);
}

/* Rows come in the order of their steps. */
double hu_history_loss_scale(const hu_history *history, int64_t step) {
    size_t low = 0, high = history->metrics_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (history->metrics[middle].step <= step)
            low = middle + 1;
        else
            high = middle;
    }
    while (low-- > 0)
        if (history->metrics[low].loss_scale > 0.0) return history->metrics[low].loss_scale;
    return 1.0;
}

bool hu_history_was_skipped(const hu_history *history, int64_t step) {
    size_t low = 0, high = history->skip_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (history->skips[middle] < step)
            low = middle + 1;
        else
            high = middle;
    }
    return low < history->skip_count && history->skips[low] == step;
}

bool hu_event_is(const hu_event_record *event, int kind) {
    return strcmp(event->kind, hu_event_name(kind)) == 0;
}

/* ---- Tensors in the order in which they are made ---- */

/* Whether counts of such tensors are among those of the run. */
static bool has_kind(const hu_history *history, const hu_graph *graph, hu_tensor_kind kind) {
    char name[HU_TENSOR_NAME_BYTES];
    for (hu_value_id v = 0; v < graph->value_count; v++) {
        hu_tensor_name(graph, (hu_tensor){kind, v}, name);
        if (hu_names_find(&history->tensors, name) != HU_NAMES_NONE) return true;
    }
    return false;
}

hu_status hu_history_walk(const hu_history *history, const hu_graph *graph, hu_tensor_order *walk) {
    unsigned more = 0;
    if (has_kind(history, graph, HU_TENSOR_WIRE)) more |= HU_WALK_WIRE;
    if (has_kind(history, graph, HU_TENSOR_WEIGHTS)) more |= HU_WALK_WEIGHTS;
    if (has_kind(history, graph, HU_TENSOR_MOMENTUM)) more |= HU_WALK_MOMENTUM;
    if (has_kind(history, graph, HU_TENSOR_SQUARES)) more |= HU_WALK_SQUARES;
    for (int o = 0; o < HU_OPERANDS; o++)
        if (has_kind(history, graph, (hu_tensor_kind)(HU_TENSOR_OPERAND + o)))
            more |= HU_WALK_OPERANDS;
    return hu_tensor_order_create(graph, more, walk);
}

void hu_history_places(const hu_history *history, const hu_tensor_order *walk, uint32_t *place) {
    char name[HU_TENSOR_NAME_BYTES];
    for (uint32_t t = 0; t < history->tensors.count; t++) place[t] = HU_NONE;
    for (uint32_t i = 0; i < walk->count; i++) {
        hu_tensor_name(walk->graph, walk->tensor[i], name);
        uint32_t number = hu_names_find(&history->tensors, name);
        if (number != HU_NAMES_NONE) place[number] = i;
    }
}

/* ---- Trouble ---- */

/* What befell the tensors of the walk. */
static void find_befallen(const hu_history *history, const hu_tensor_order *walk,
                          const uint32_t *place, uint16_t *befallen) {
    for (size_t e = 0; e < history->event_count; e++) {
        const hu_event_record *event = &history->events[e];
        uint32_t at = place[event->tensor];
        for (int kind = 0; at < walk->count && kind < HU_EVENTS; kind++)
            if (hu_event_is(event, kind)) befallen[at] |= (uint16_t)(1u << kind);
    }
}

/* Accumulators are formats with words in front of them. */
static bool sums_of(const hu_history *history, const hu_product_record *record) {
    hu_accumulator accumulator;
    if (record->terms == 0 ||
        hu_accumulator_parse(history->formats.name[record->accumulator], &accumulator) != HU_OK)
        return false;
    return hu_sums_are_in_trouble(&accumulator, record->most_overflow, record->most_subnormal,
                                  record->most_stalled);
}

/* Each product once. failed: [history->products.count], all false. */
static uint32_t count_sums(const hu_history *history, bool *failed) {
    uint32_t count = 0;
    for (size_t r = 0; r < history->numerics_count; r++) {
        const hu_numerics_record *row = &history->numerics[r];
        for (uint32_t p = 0; p < row->product_count && !row->skipped; p++) {
            const hu_product_record *record = &row->product[p];
            if (failed[record->product] || !sums_of(history, record)) continue;
            failed[record->product] = true;
            count++;
        }
    }
    return count;
}

hu_status hu_trouble_of_run(const hu_history *history, const hu_tensor_order *walk,
                            hu_trouble *trouble) {
    hu_status st = HU_OK;
    uint32_t *place = NULL;
    uint16_t *befallen = NULL;
    bool *marked = NULL, *failed = NULL;
    *trouble = (hu_trouble){0};
    HU_TRY(HU_NEW_ARRAY(&place, (size_t)history->tensors.count + 1));
    HU_TRY(HU_NEW_ARRAY(&befallen, (size_t)walk->count + 1));
    HU_TRY(HU_NEW_ARRAY(&marked, (size_t)walk->count + 1));
    HU_TRY(HU_NEW_ARRAY(&failed, (size_t)history->products.count + 1));
    hu_history_places(history, walk, place);
    find_befallen(history, walk, place, befallen);
    hu_trouble_of_tensors(walk, befallen, marked, trouble);
    trouble->sums = count_sums(history, failed);
done:
    hu_free(place);
    hu_free(befallen);
    hu_free(marked);
    hu_free(failed);
    return st;
}

/* ---- Largest gradients ---- */

/* The largest gradients of a recorded run, and the loss scales that they leave
 * room for. */

static void offer(hu_largest *largest, double magnitude, bool is_bound, int64_t step) {
    if (!(magnitude > largest->magnitude)) return;
    *largest = (hu_largest){magnitude, is_bound, step};
}

/* The end of a binade, which its numbers do not reach. */
static double bound_of(int32_t exponent) {
    return ldexp(1.0, exponent + 1) * (1.0 - 0x1p-24);
}

/* Tensors that are not rounded are counted where histograms are taken, and in some steps beside:
 * these matter where they reach another binade. */
static void search_rows(const hu_history *history, uint32_t tensor, hu_largest *largest) {
    for (size_t r = 0; r < history->numerics_count; r++) {
        const hu_numerics_record *row = &history->numerics[r];
        for (uint32_t i = 0; i < row->tensor_count && !row->skipped; i++) {
            const hu_tensor_record *record = &row->tensor[i];
            int32_t exponent = record->counts.max_exponent;
            if (record->tensor != tensor || exponent == HU_NO_EXPONENT) continue;
            double bound = bound_of(exponent) / hu_history_loss_scale(history, row->step);
            bool rounds = strcmp(history->formats.name[record->format], "float32") != 0;
            if (!rounds && largest->magnitude > 0.0 && ilogb(bound) <= ilogb(largest->magnitude))
                continue;
            offer(largest, bound, true, row->step);
        }
    }
}

static void search_histograms(const hu_history *history, uint32_t tensor, hu_largest *largest) {
    for (size_t r = 0; r < history->histogram_count; r++) {
        const hu_histogram_record *record = &history->histograms[r];
        for (uint32_t i = 0; i < record->count; i++) {
            const hu_exponents *x = &record->tensor[i].exponents;
            int32_t top = hu_exponents_top(x);
            if (record->tensor[i].tensor != tensor || top == HU_NO_EXPONENT) continue;
            if (hu_history_was_skipped(history, record->step)) continue;
            bool is_known = x->largest > 0.0;
            offer(largest,
                  (is_known ? x->largest : bound_of(top)) /
                      hu_history_loss_scale(history, record->step),
                  !is_known, record->step);
        }
    }
}

void hu_history_largest(const hu_history *history, const hu_tensor_order *walk,
                        hu_largest largest[HU_LARGEST_KINDS]) {
    char name[HU_TENSOR_NAME_BYTES];
    memset(largest, 0, HU_LARGEST_KINDS * sizeof *largest);
    for (uint32_t t = 0; t < walk->count; t++) {
        const hu_value_info *value = &walk->graph->value[walk->tensor[t].value];
        bool is_parameter = value->role == HU_VALUE_PARAMETER;
        if (walk->tensor[t].kind != HU_TENSOR_GRADIENT || !hu_is_rounded_kind(value)) continue;
        hu_tensor_name(walk->graph, walk->tensor[t], name);
        uint32_t tensor = hu_names_find(&history->tensors, name);
        if (tensor == HU_NAMES_NONE) continue;
        hu_largest *kind = &largest[is_parameter ? HU_LARGEST_PARAMETER : HU_LARGEST_ACT];
        search_histograms(history, tensor, kind);
        search_rows(history, tensor, kind);
    }
}

hu_largest hu_largest_of_all(const hu_largest largest[HU_LARGEST_KINDS]) {
    const hu_largest *act = &largest[HU_LARGEST_ACT], *rest = &largest[HU_LARGEST_PARAMETER];
    return act->magnitude >= rest->magnitude ? *act : *rest;
}
