#include "runlog/history_reader.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "runlog/row_columns.h"

hu_status hu_place_fail(const hu_place *place, const char *format, ...) {
    char message[512];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return hu_fail(HU_ERR_CORRUPT, "%s/%s, line %zu: %s", place->folder, place->file, place->line,
                   message);
}

static const char *type_of(const json_t *value) {
    if (!value) return "nothing";
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "a list";
    case JSON_STRING:
        return "a text";
    case JSON_INTEGER:
        return "an integer";
    case JSON_REAL:
        return "a number";
    case JSON_NULL:
        return "null";
    default:
        return "true or false";
    }
}

/* Whole numbers that every reader of JSON takes (RFC 8259, section 6); sums of some hundred of them
 * do not overflow. */
static const int64_t most_whole = (int64_t)1 << 53;

hu_status hu_json_i64(const hu_place *place, const json_t *value, const char *what,
                      int64_t *number) {
    *number = 0;
    if (!json_is_integer(value))
        return hu_place_fail(place, "%s: found %s, expected an integer", what, type_of(value));
    *number = json_integer_value(value);
    if (*number < -most_whole || *number > most_whole)
        return hu_place_fail(place, "%s: found %lld, expected at most 2^53", what,
                             (long long)*number);
    return HU_OK;
}

static hu_status json_u64(const hu_place *place, const json_t *value, const char *what,
                          uint64_t *number) {
    int64_t whole;
    hu_status st = hu_json_i64(place, value, what, &whole);
    if (st != HU_OK) return st;
    if (whole < 0)
        return hu_place_fail(place, "%s: found %lld, expected at least 0", what, (long long)whole);
    *number = (uint64_t)whole;
    return HU_OK;
}

/* Infinities stand as texts, NaN as null; older folders have a text for it, too. */
static hu_status json_f64(const hu_place *place, const json_t *value, const char *what,
                          double *number) {
    const char *text = json_string_value(value);
    if (json_is_number(value))
        *number = json_number_value(value);
    else if (json_is_null(value) || (text && strcmp(text, "nan") == 0))
        *number = NAN;
    else if (text && strcmp(text, "inf") == 0)
        *number = HUGE_VAL;
    else if (text && strcmp(text, "-inf") == 0)
        *number = -HUGE_VAL;
    else
        return hu_place_fail(place, "%s: found %s, expected a number", what, type_of(value));
    return HU_OK;
}

hu_status hu_json_text(const hu_place *place, const json_t *value, const char *what,
                       const char **text) {
    *text = json_string_value(value);
    if (*text && hu_has_controls(*text))
        return hu_place_fail(place, "%s: found a control character in '%s', expected none", what,
                             *text);
    if (*text) return HU_OK;
    return hu_place_fail(place, "%s: found %s, expected a text", what, type_of(value));
}

hu_status hu_json_list(const hu_place *place, const json_t *value, const char *what,
                       size_t *count) {
    *count = 0;
    if (!json_is_array(value))
        return hu_place_fail(place, "%s: found %s, expected a list", what, type_of(value));
    *count = json_array_size(value);
    return HU_OK;
}

hu_status hu_json_read(hu_place *place, json_t **object) {
    hu_status st = HU_OK;
    char *path = NULL;
    uint8_t *data = NULL;
    size_t bytes = 0;
    bool is_present;
    json_error_t error;
    *object = NULL;
    HU_TRY(hu_path_join(place->folder, place->file, &path));
    HU_TRY(hu_file_find(path, &is_present));
    if (!is_present) goto done;
    HU_TRY(hu_file_read_plain(path, SIZE_MAX / 2, &data, &bytes));
    st = hu_json_parse((const char *)data, bytes, object, &error);
    place->line = *object || error.line < 1 ? 1 : (size_t)error.line;
    if (st == HU_ERR_CORRUPT) st = hu_place_fail(place, "column %d: %s", error.column, error.text);
done:
    hu_free(data);
    hu_free(path);
    return st;
}

/* ---- The events of a history, found by what they befell ---- */

/* What an event is found by: the number of its tensor and its kind. Owner frees. */
static hu_status event_name(uint32_t tensor, const char *kind, char **name) {
    size_t bytes = strlen(kind) + sizeof "4294967295 ";
    hu_status st = HU_NEW_ARRAY(name, bytes);
    if (st == HU_OK) snprintf(*name, bytes, "%u %s", tensor, kind);
    return st;
}

/* The first event of a kind that befell a tensor; *event NULL: there is none. Borrowed: until the
 * next event is added. HU_ERR_MEMORY. */
static hu_status history_find_event(hu_history *history, uint32_t tensor, const char *kind,
                                    hu_event_record **event) {
    char *name;
    *event = NULL;
    hu_status st = event_name(tensor, kind, &name);
    if (st != HU_OK) return st;
    uint32_t number = hu_names_find(&history->event_names, name);
    if (number != HU_NAMES_NONE) *event = &history->events[history->first_event[number]];
    hu_free(name);
    return HU_OK;
}

/* Lets the last event of the history be found, if it is the first of its tensor and kind.
 * HU_ERR_MEMORY. Proof: tests/unit/runlog_history_test.c. */
static hu_status history_name_event(hu_history *history) {
    hu_status st = HU_OK;
    const hu_event_record *event = &history->events[history->event_count - 1];
    uint32_t number, known = history->event_names.count;
    char *name = NULL;
    HU_TRY(hu_grow(&history->first_event, known, &history->first_event_capacity,
                   sizeof *history->first_event));
    HU_TRY(event_name(event->tensor, event->kind, &name));
    HU_TRY(hu_names_intern(&history->event_names, name, HU_NAMES_NONE, &number));
    if (number == known) history->first_event[number] = history->event_count - 1;
done:
    hu_free(name);
    return st;
}

/* ---- plan.json, read back ---- */

static hu_status make_array(size_t count, size_t bytes, void *array) {
    return hu_alloc_array(count, bytes, (void **)array);
}

static hu_status read_memory(const hu_place *place, json_t *object, hu_plan_record *plan) {
    hu_status st = HU_OK;
    const char *role;
    json_t *bytes;
    if (!json_is_object(object)) return hu_place_fail(place, "memory_bytes: expected an object");
    HU_TRY(make_array(json_object_size(object), sizeof *plan->memory, &plan->memory));
    json_object_foreach(object, role, bytes) {
        hu_plan_memory *memory = &plan->memory[plan->memory_count++];
        HU_TRY(hu_strdup(role, &memory->role));
        HU_TRY(json_u64(place, bytes, role, &memory->bytes));
    }
done:
    return st;
}

static hu_status read_group(const hu_place *place, const json_t *object, hu_plan_group *group) {
    hu_status st = HU_OK;
    const char *text;
    size_t count;
    const json_t *tensors = json_object_get(object, "tensors");
    HU_TRY(hu_json_i64(place, json_object_get(object, "id"), "id", &group->id));
    HU_TRY(hu_json_i64(place, json_object_get(object, "elements"), "elements", &group->elements));
    HU_TRY(json_f64(place, json_object_get(object, "share"), "share", &group->share));
    HU_TRY(hu_json_text(place, json_object_get(object, "precision"), "precision", &text));
    HU_TRY(hu_strdup(text, &group->precision));
    HU_TRY(hu_json_list(place, tensors, "tensors", &count));
    HU_TRY(make_array(count, sizeof *group->tensor, &group->tensor));
    for (size_t i = 0; i < count; i++) {
        HU_TRY(hu_json_text(place, json_array_get(tensors, i), "tensor", &text));
        HU_TRY(hu_strdup(text, &group->tensor[i]));
        group->tensor_count++;
    }
done:
    return st;
}

static hu_status read_groups(const hu_place *place, const json_t *list, hu_plan_record *plan) {
    hu_status st = HU_OK;
    size_t count;
    HU_TRY(hu_json_list(place, list, "groups", &count));
    HU_TRY(make_array(count, sizeof *plan->group, &plan->group));
    for (size_t i = 0; i < count; i++) {
        const json_t *object = json_array_get(list, i);
        if (!json_is_object(object)) return hu_place_fail(place, "groups: expected objects");
        plan->group_count++;
        HU_TRY(read_group(place, object, &plan->group[i]));
    }
done:
    return st;
}

hu_status hu_history_plan(const hu_place *place, const json_t *object, hu_plan_record **result) {
    hu_status st = HU_OK;
    void *block = NULL;
    *result = NULL;
    if (!json_is_object(object)) return hu_place_fail(place, "found no object, expected {...}");
    HU_TRY(hu_alloc(sizeof(hu_plan_record), &block));
    hu_plan_record *plan = block;
    HU_TRY(hu_json_i64(place, json_object_get(object, "tensor_elements"), "tensor_elements",
                       &plan->tensor_elements));
    HU_TRY(json_f64(place, json_object_get(object, "low_precision_ratio"), "low_precision_ratio",
                    &plan->low_precision_ratio));
    HU_TRY(hu_json_i64(place, json_object_get(object, "model_aggregate_bits"),
                       "model_aggregate_bits", &plan->model_aggregate_bits));
    HU_TRY(read_memory(place, json_object_get(object, "memory_bytes"), plan));
    HU_TRY(read_groups(place, json_object_get(object, "groups"), plan));
    *result = plan;
    block = NULL;
done:
    hu_history_plan_free(block);
    return st;
}

static void free_group(hu_plan_group *group) {
    for (uint32_t i = 0; i < group->tensor_count; i++) hu_free(group->tensor[i]);
    hu_free(group->tensor);
    hu_free(group->precision);
}

void hu_history_plan_free(hu_plan_record *plan) {
    if (!plan) return;
    for (uint32_t i = 0; i < plan->memory_count; i++) hu_free(plan->memory[i].role);
    for (uint32_t i = 0; i < plan->group_count; i++) free_group(&plan->group[i]);
    hu_free(plan->memory);
    hu_free(plan->group);
    hu_free(plan);
}

/* ---- One line of metrics.jsonl, numerics.jsonl or histograms.jsonl ---- */

/* A list inside of a list, of so many columns. */
static hu_status row_of(const hu_place *place, const json_t *rows, size_t index, const char *what,
                        size_t columns, const json_t **row) {
    size_t found;
    *row = json_array_get(rows, index);
    hu_status st = hu_json_list(place, *row, what, &found);
    if (st != HU_OK || found == columns) return st;
    return hu_fail(HU_ERR_VERSION,
                   "%s/%s, line %zu: %s number %zu has %zu columns, expected %zu: another version "
                   "of halfulp wrote this folder",
                   place->folder, place->file, place->line, what, index, found, columns);
}

/* Scaled numbers on their way between workers may lie beyond binary32's range: a scale takes the
 * ends of a format to its ends. */
enum { EXPONENT_LEAST = -512, EXPONENT_MOST = 511 };

/* Null: no nonzero finite number. */
static hu_status read_exponent(const hu_place *place, const json_t *value, const char *what,
                               int32_t *exponent) {
    int64_t whole;
    *exponent = HU_NO_EXPONENT;
    if (json_is_null(value)) return HU_OK;
    hu_status st = hu_json_i64(place, value, what, &whole);
    if (st != HU_OK) return st;
    if (whole < EXPONENT_LEAST || whole > EXPONENT_MOST)
        return hu_place_fail(place, "%s: found %lld, expected %d..%d", what, (long long)whole,
                             EXPONENT_LEAST, EXPONENT_MOST);
    *exponent = (int32_t)whole;
    return HU_OK;
}

enum { BITS_LEAST = 1, BITS_MOST = 32 };

static hu_status read_bits(const hu_place *place, const json_t *value, const char *what,
                           int *bits) {
    int64_t whole = 0;
    hu_status st = hu_json_i64(place, value, what, &whole);
    if (st != HU_OK) return st;
    if (whole < BITS_LEAST || whole > BITS_MOST)
        return hu_place_fail(place, "%s: found %lld bits, expected %d to %d", what,
                             (long long)whole, BITS_LEAST, BITS_MOST);
    *bits = (int)whole;
    return HU_OK;
}

/* One column of a row, into its member of a record. hint: the number that a name probably has. */
static hu_status read_cell(hu_history *history, const hu_place *place, const json_t *value,
                           const hu_row_column *column, uint32_t hint, void *member) {
    hu_names *const names[HU_ROW_NAMES] = {&history->tensors, &history->formats, &history->products,
                                           &history->layers};
    const char *text;
    hu_status st;
    switch (column->kind) {
    case HU_ROW_TEXT:
        return hu_json_text(place, value, column->name, member);
    case HU_ROW_COUNT:
        return json_u64(place, value, column->name, member);
    case HU_ROW_WHOLE:
        return hu_json_i64(place, value, column->name, member);
    case HU_ROW_REAL:
        return json_f64(place, value, column->name, member);
    case HU_ROW_EXPONENT:
        return read_exponent(place, value, column->name, member);
    case HU_ROW_BITS:
        return read_bits(place, value, column->name, member);
    default:
        st = hu_json_text(place, value, column->name, &text);
        return st == HU_OK ? hu_names_intern(names[column->kind], text, hint, member) : st;
    }
}

/* Row number `index` of a list. hint: the number that its first name probably has. */
static hu_status read_row(hu_history *history, const hu_place *place, const json_t *rows,
                          size_t index, const hu_row *row, uint32_t hint, void *record) {
    const json_t *cells = json_array_get(rows, index);
    bool is_old = row->columns_once && json_array_size(cells) == row->columns_once;
    size_t columns = is_old ? row->columns_once : row->columns;
    hu_status st = row_of(place, rows, index, row->what, columns, &cells);
    for (size_t c = 0; c < columns && st == HU_OK; c++)
        st = read_cell(history, place, json_array_get(cells, c), &row->column[c], c == 0 ? hint : 0,
                       (char *)record + row->column[c].offset);
    return st;
}

/* A whole list of a line, which begins with names, into a new array of records of so many bytes.
 * Lines list them in one order: the next name is probably the one after the last. rows NULL: the
 * line has no such list. */
static hu_status read_list(hu_history *history, const hu_place *place, const json_t *rows,
                           const hu_row *row, size_t bytes, void *array, uint32_t *count) {
    hu_status st = HU_OK;
    uint32_t hint = 0;
    size_t found;
    HU_TRY(hu_json_list(place, rows, row->list, &found));
    HU_TRY(make_array(found, bytes, array));
    char *records = *(void **)array;
    for (size_t i = 0; i < found; i++) {
        char *record = records + i * bytes;
        HU_TRY(read_row(history, place, rows, i, row, hint, record));
        hint = *(const uint32_t *)(const void *)(record + row->column[0].offset) + 1;
        ++*count;
    }
done:
    return st;
}

/* ---- metrics.jsonl ---- */

/* One column of a metrics line by its row of the list (runlog/metrics.h). Columns that older
 * versions did not write may be missing. */
static hu_status read_column(const hu_place *place, const json_t *line, const hu_column *column,
                             const hu_metric *metric, hu_metrics_record *record) {
    char title[HU_METRIC_KEY_BYTES];
    const json_t *value = json_object_get(line, hu_column_title(column, metric, title));
    void *member = (char *)record + column->offset;
    bool is_needed = column->place > 0 && column->place <= HU_COLUMNS_ALWAYS;
    switch (column->kind) {
    case HU_COLUMN_WHOLE:
        return value || is_needed ? hu_json_i64(place, value, column->name, member) : HU_OK;
    case HU_COLUMN_FLAG:
        *(bool *)member = json_is_true(value);
        return HU_OK;
    default:
        *(double *)member = NAN;
        return value || is_needed ? json_f64(place, value, column->name, member) : HU_OK;
    }
}

hu_status hu_history_metrics(hu_history *history, const hu_place *place, const json_t *line) {
    hu_status st = HU_OK;
    void *block = history->metrics;
    HU_TRY(hu_grow(&block, history->metrics_count, &history->metrics_capacity,
                   sizeof *history->metrics));
    history->metrics = block;
    hu_metrics_record *record = &history->metrics[history->metrics_count];
    *record = (hu_metrics_record){.culprit = NULL};
    history->metrics_count++;
    for (int c = 0; c < HU_COLUMNS; c++)
        HU_TRY(read_column(place, line, &hu_columns[c], history->metric, record));
    const char *culprit = json_string_value(json_object_get(line, "culprit"));
    if (culprit) HU_TRY(hu_strdup(culprit, &record->culprit));
done:
    return st;
}

/* ---- numerics.jsonl ---- */

static hu_status add_skip(hu_history *history, int64_t step) {
    hu_status st =
        hu_grow(&history->skips, history->skip_count, &history->skip_capacity, sizeof step);
    if (st == HU_OK) history->skips[history->skip_count++] = step;
    return st;
}

static double share_of(uint64_t count, uint64_t of) {
    return of ? (double)count / (double)of : 0.0;
}

/* The lists of a line of counts, and what only one line has: shares, and that it is one. Products
 * and updates stand in the lines of steps that counted them. */
static hu_status read_lists(hu_history *history, const hu_place *place, const json_t *line,
                            hu_numerics_record *record) {
    hu_status st = HU_OK;
    const json_t *products = json_object_get(line, "products");
    const json_t *updates = json_object_get(line, "updates");
    if (products)
        HU_TRY(read_list(history, place, products, &hu_row_products, sizeof *record->product,
                         &record->product, &record->product_count));
    if (updates)
        HU_TRY(read_list(history, place, updates, &hu_row_updates, sizeof *record->update,
                         &record->update, &record->update_count));
    for (uint32_t i = 0; i < record->tensor_count; i++) {
        record->tensor[i].lines = 1;
        record->tensor[i].subnormal_step = record->step;
    }
    for (uint32_t i = 0; i < record->product_count; i++) {
        hu_product_record *product = &record->product[i];
        product->lines = 1;
        product->most_subnormal = share_of(product->subnormal, product->values);
        product->most_overflow = share_of(product->overflow, product->values);
        product->most_stalled = share_of(product->stalled, product->terms);
    }
    for (uint32_t i = 0; i < record->update_count; i++) record->update[i].lines = 1;
    record->lines = 1;
done:
    return st;
}

/* How long events held in the steps of a row: added to what the rows before told. */
static hu_status read_held(hu_history *history, const hu_place *place, const json_t *rows) {
    hu_status st = HU_OK;
    size_t count;
    HU_TRY(hu_json_list(place, rows, hu_row_held.list, &count));
    for (size_t i = 0; i < count; i++) {
        hu_held_row held = {0};
        hu_event_record *event;
        HU_TRY(read_row(history, place, rows, i, &hu_row_held, 0, &held));
        HU_TRY(history_find_event(history, held.tensor, held.kind, &event));
        if (!event) continue;
        if (held.steps < 0 || event->steps > INT64_MAX - held.steps)
            return hu_place_fail(place, "held: found %lld steps behind %lld, expected no more",
                                 (long long)held.steps, (long long)event->steps);
        event->steps += held.steps;
        event->last = held.last;
        event->held += held.count;
        event->could_be += held.of;
    }
done:
    return st;
}

/* A line of counts: of one step, or of `steps` steps up to it. */
static hu_status read_counts(hu_history *history, const hu_place *place, const json_t *line,
                             int64_t step) {
    hu_status st = HU_OK;
    void *block = history->numerics;
    const json_t *steps = json_object_get(line, "steps");
    HU_TRY(hu_grow(&block, history->numerics_count, &history->numerics_capacity,
                   sizeof *history->numerics));
    history->numerics = block;
    hu_numerics_record *record = &history->numerics[history->numerics_count++];
    *record = (hu_numerics_record){.step = step};
    record->skipped = json_is_true(json_object_get(line, "skipped"));
    if (!steps)
        return hu_fail(HU_ERR_VERSION,
                       "%s/%s, line %zu: found no \"steps\": another version of halfulp wrote this "
                       "folder",
                       place->folder, place->file, place->line);
    HU_TRY(hu_json_i64(place, steps, "steps", &record->steps));
    HU_TRY(read_list(history, place, json_object_get(line, "tensors"), &hu_row_tensors,
                     sizeof *record->tensor, &record->tensor, &record->tensor_count));
    record->has_held = json_object_get(line, "held");
    if (record->has_held) HU_TRY(read_held(history, place, json_object_get(line, "held")));
    HU_TRY(read_lists(history, place, line, record));
    history->numerics_lines++;
    if (record->skipped) HU_TRY(add_skip(history, step));
    st = hu_history_add_up(history);
done:
    return st;
}

/* What befell tensors in a step, each event told once in a run. */
static hu_status read_events(hu_history *history, const hu_place *place, const json_t *rows,
                             int64_t step) {
    hu_status st = HU_OK;
    size_t count;
    HU_TRY(hu_json_list(place, rows, hu_row_events.list, &count));
    for (size_t i = 0; i < count; i++) {
        hu_event_row row = {0};
        HU_TRY(read_row(history, place, rows, i, &hu_row_events, 0, &row));
        HU_TRY(hu_grow(&history->events, history->event_count, &history->event_capacity,
                       sizeof *history->events));
        hu_event_record *event = &history->events[history->event_count++];
        *event = (hu_event_record){.step = step,
                                   .last = step,
                                   .tensor = row.tensor,
                                   .format = row.format,
                                   .count = row.count,
                                   .elements = row.elements};
        HU_TRY(hu_strdup(row.kind, &event->kind));
        HU_TRY(history_name_event(history));
    }
done:
    return st;
}

static hu_status read_promotions(hu_history *history, const hu_place *place, const json_t *rows,
                                 int64_t step) {
    hu_status st = HU_OK;
    size_t count;
    HU_TRY(hu_json_list(place, rows, hu_row_promoted.list, &count));
    for (size_t i = 0; i < count; i++) {
        HU_TRY(hu_grow(&history->promotions, history->promotion_count, &history->promotion_capacity,
                       sizeof *history->promotions));
        hu_promotion_record *promotion = &history->promotions[history->promotion_count];
        *promotion = (hu_promotion_record){.step = step};
        HU_TRY(read_row(history, place, rows, i, &hu_row_promoted, 0, promotion));
        history->promotion_count++;
    }
done:
    return st;
}

static hu_status read_phase(hu_history *history, const hu_place *place, const json_t *line,
                            int64_t step) {
    hu_status st = HU_OK;
    const char *precision;
    void *block = history->phases;
    HU_TRY(
        hu_grow(&block, history->phase_count, &history->phase_capacity, sizeof *history->phases));
    history->phases = block;
    hu_phase_record *phase = &history->phases[history->phase_count];
    *phase = (hu_phase_record){.step = step};
    HU_TRY(hu_json_i64(place, json_object_get(line, "epoch"), "epoch", &phase->epoch));
    HU_TRY(hu_json_text(place, json_object_get(line, "precision"), "precision", &precision));
    HU_TRY(hu_strdup(precision, &phase->precision));
    history->phase_count++;
done:
    return st;
}

hu_status hu_history_numerics(hu_history *history, const hu_place *place, const json_t *line) {
    hu_status st = HU_OK;
    int64_t step = 0;
    const json_t *events = json_object_get(line, "events");
    const json_t *promoted = json_object_get(line, "promoted");
    HU_TRY(hu_json_i64(place, json_object_get(line, "step"), "step", &step));
    if (events) HU_TRY(read_events(history, place, events, step));
    if (promoted) HU_TRY(read_promotions(history, place, promoted, step));
    bool is_phase = json_object_get(line, "precision");
    if (is_phase) HU_TRY(read_phase(history, place, line, step));
    if (json_object_get(line, "tensors") || (!events && !promoted && !is_phase))
        HU_TRY(read_counts(history, place, line, step));
done:
    return st;
}

/* ---- bits.jsonl ---- */

hu_status hu_history_bits(hu_history *history, const hu_place *place, const json_t *line) {
    hu_status st = HU_OK;
    void *block = history->bits;
    const json_t *rows = json_object_get(line, "bits");
    if (!rows && json_object_get(line, "beta")) return HU_OK;
    HU_TRY(hu_grow(&block, history->bits_count, &history->bits_capacity, sizeof *history->bits));
    history->bits = block;
    hu_bits_record *record = &history->bits[history->bits_count++];
    *record = (hu_bits_record){0};
    HU_TRY(hu_json_i64(place, json_object_get(line, "step"), "step", &record->step));
    HU_TRY(read_list(history, place, rows, &hu_row_bits, sizeof *record->change, &record->change,
                     &record->count));
done:
    return st;
}

/* ---- histograms.jsonl ---- */

enum { HISTOGRAM_COLUMNS = 7, LEAST_EXPONENT = -149, EXPONENT_END = 128, MOST_BINS = 277 };

static hu_status read_bins(const hu_place *place, const json_t *row, hu_exponents *exponents) {
    hu_status st = HU_OK;
    const json_t *bins = json_array_get(row, 5);
    uint64_t sum = exponents->zero + exponents->nonfinite;
    int64_t first = 0;
    size_t count;
    HU_TRY(hu_json_i64(place, json_array_get(row, 4), "first_exponent", &first));
    HU_TRY(hu_json_list(place, bins, "bins", &count));
    if (first < LEAST_EXPONENT || first > EXPONENT_END || count > MOST_BINS ||
        first + (int64_t)count > EXPONENT_END)
        return hu_place_fail(place, "%zu bins from exponent %lld, expected all in -149..127", count,
                             (long long)first);
    HU_TRY(make_array(count, sizeof *exponents->bin, &exponents->bin));
    exponents->first = (int32_t)first;
    exponents->count = (uint32_t)count;
    for (size_t i = 0; i < count; i++) {
        HU_TRY(json_u64(place, json_array_get(bins, i), "bin", &exponents->bin[i]));
        sum += exponents->bin[i];
    }
    if (sum != exponents->elements)
        return hu_place_fail(place, "bins add up to %llu, expected %llu elements",
                             (unsigned long long)sum, (unsigned long long)exponents->elements);
done:
    return st;
}

/* It has the exponent of the last bin that is not empty. */
static hu_status read_largest(const hu_place *place, const json_t *row, hu_exponents *exponents) {
    const json_t *value = json_array_get(row, HISTOGRAM_COLUMNS - 1);
    int32_t top = hu_exponents_top(exponents);
    if (!value) return HU_OK;
    hu_status st = json_f64(place, value, "largest", &exponents->largest);
    if (st != HU_OK) return st;
    bool fits = top == HU_NO_EXPONENT
                    ? exponents->largest == 0.0
                    : exponents->largest > 0.0 && ilogb(exponents->largest) == top;
    if (fits) return HU_OK;
    return hu_place_fail(place, "largest: found %g, expected it in the last bin",
                         exponents->largest);
}

/* Of one tensor; all or nothing. hint: the number that its name probably has. */
static hu_status read_histogram(hu_history *history, const hu_place *place, const json_t *row,
                                uint32_t hint, hu_tensor_exponents *tensor) {
    hu_status st = HU_OK;
    hu_exponents *exponents = &tensor->exponents;
    HU_TRY(read_cell(history, place, json_array_get(row, 0), &hu_row_tensors.column[0], hint,
                     &tensor->tensor));
    HU_TRY(json_u64(place, json_array_get(row, 1), "elements", &exponents->elements));
    HU_TRY(json_u64(place, json_array_get(row, 2), "zero", &exponents->zero));
    HU_TRY(json_u64(place, json_array_get(row, 3), "nonfinite", &exponents->nonfinite));
    HU_TRY(read_bins(place, row, exponents));
    HU_TRY(read_largest(place, row, exponents));
done:
    if (st != HU_OK) hu_free(exponents->bin);
    return st;
}

hu_status hu_history_histogram(hu_history *history, const hu_place *place, const json_t *line) {
    hu_status st = HU_OK;
    size_t count;
    uint32_t hint = 0;
    void *block = history->histograms;
    const json_t *row, *rows = json_object_get(line, "tensors");
    HU_TRY(hu_grow(&block, history->histogram_count, &history->histogram_capacity,
                   sizeof *history->histograms));
    history->histograms = block;
    hu_histogram_record *record = &history->histograms[history->histogram_count++];
    *record = (hu_histogram_record){.number = history->histogram_lines++};
    HU_TRY(hu_json_i64(place, json_object_get(line, "step"), "step", &record->step));
    HU_TRY(hu_json_list(place, rows, "tensors", &count));
    HU_TRY(make_array(count, sizeof *record->tensor, &record->tensor));
    for (size_t i = 0; i < count; i++) {
        /* Older versions wrote no largest magnitude. */
        size_t columns = json_array_size(json_array_get(rows, i)) + 1 == HISTOGRAM_COLUMNS
                             ? HISTOGRAM_COLUMNS - 1
                             : HISTOGRAM_COLUMNS;
        HU_TRY(row_of(place, rows, i, "tensor", columns, &row));
        HU_TRY(read_histogram(history, place, row, hint, &record->tensor[i]));
        hint = record->tensor[i].tensor + 1;
        record->count++;
    }
    hu_history_thin(history);
done:
    return st;
}
