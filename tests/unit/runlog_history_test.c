/* Reading run folders: whole, cut off, damaged, of another version. */
#include "runlog/history.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[64];

static const char *path_of(const char *name) {
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void write_file(const char *name, const char *text) {
    FILE *file = fopen(path_of(name), "w");
    assert_non_null(file);
    assert_int_equal(fputs(text, file) >= 0, 1);
    assert_int_equal(fclose(file), 0);
}

static const char metrics[] =
    "{\"step\":0,\"epoch\":0,\"loss\":2.5,\"lr\":0.1,\"loss_scale\":1.0,\"gradient_norm\":3.5,"
    "\"skipped\":false}\n"
    "{\"step\":9,\"epoch\":1,\"loss\":\"nan\",\"lr\":0.1,\"loss_scale\":65536.0,"
    "\"gradient_norm\":\"nan\",\"skipped\":true,\"test_accuracy\":0.5,\"culprit\":\"here\"}\n";
static const char row[] =
    "{\"step\": 9, \"steps\": 10, \"skipped\": true, \"tensors\": [[\"conv1.out\", \"e5m2\", 100, "
    "1, 2, 3, 4, 5, 6, -7, 0.25, 0.5, 0.75], [\"fc.out.grad\", \"fp16\", 100, 0, 0, 0, 100, 0, "
    "null, null, 0.0, 0.0, 0.0]], \"products\": [[\"conv1.forward\", \"fmac:fp16\", 50, 2, 1]]}\n";
static const char more[] =
    "{\"step\": 9, \"events\": [[\"conv1.out\", \"overflow\", \"e5m2\", 1, 100]]}\n"
    "{\"step\": 9, \"promoted\": [[\"conv1.out\", \"e5m2\", \"1/6/9\", 0.01]]}\n";
static const char later[] =
    "{\"step\": 12, \"steps\": 3, \"tensors\": [], \"held\": "
    "[[\"conv1.out\", \"overflow\", 2, 11, 30, "
    "200], [\"conv1.out\", \"nan\", 1, 11, 1, 100]]}\n"
    "{\"step\": 14, \"steps\": 2, \"tensors\": [], \"updates\": [[\"conv1.weight\", 9, 4, 0]], "
    "\"products\": [[\"conv1.forward\", \"fmac:fp16\", 50, 2, 1, 40, 7]], \"held\": "
    "[[\"conv1.out\", \"overflow\", 1, 14, 9, "
    "100]]}\n";
static const char histogram[] =
    "{\"step\": 0, \"tensors\": [[\"conv1.out\", 10, 3, 1, -149, [1, 0, 5]], "
    "[\"input\", 4, 4, 0, 0, []]]}\n";
static const char bits[] = "{\"step\": 0, \"bits\": [[\"conv1\", 3, 8], [\"fc\", 4, 6]]}\n"
                           "{\"step\": 5, \"beta\": [[\"conv1\", 0.375], [\"fc\", 0.5]]}\n"
                           "{\"step\": 7, \"bits\": [[\"fc\", 5, 6]]}\n";
static const char plan[] =
    "{\"tensor_elements\": 1000, \"low_precision_ratio\": 0.5, \"model_aggregate_bits\": 12000, "
    "\"memory_bytes\": {\"activation\": 64, \"gradient\": 32},\n \"groups\": [{\"id\": 3, "
    "\"elements\": 700, \"share\": 0.7, \"precision\": \"low\", \"tensors\": [\"a\", \"b\"]}]}\n";

static int set_up(void **state) {
    (void)state;
    strcpy(folder, "/tmp/history-XXXXXX");
    if (!mkdtemp(folder)) return 1;
    write_file("config.resolved.yaml", "model:\n  name: cnn-s\n");
    write_file("metrics.jsonl", metrics);
    write_file("numerics.jsonl", row);
    FILE *file = fopen(path_of("numerics.jsonl"), "a");
    fputs(more, file);
    fclose(file);
    write_file("histograms.jsonl", histogram);
    write_file("plan.json", plan);
    write_file("bits.jsonl", bits);
    return 0;
}

static int tear_down(void **state) {
    static const char *const names[] = {"config.resolved.yaml", "metrics.jsonl", "numerics.jsonl",
                                        "histograms.jsonl",     "plan.json",     "bits.jsonl",
                                        "result.json"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) unlink(path_of(names[i]));
    return rmdir(folder);
}

static hu_history *read_whole(void) {
    hu_history *history;
    assert_int_equal(hu_history_read(folder, &history), HU_OK);
    return history;
}

static void all_that_stands_there_is_read(void **state) {
    (void)state;
    hu_history *h = read_whole();
    assert_string_equal(h->warning, "");
    assert_int_equal(h->metrics_count, 2);
    assert_true(h->metrics[0].loss == 2.5 && h->metrics[1].loss_scale == 65536.0);
    assert_true(isnan(h->metrics[1].loss) && isnan(h->metrics[0].test_metric));
    assert_true(h->metrics[1].skipped && h->metrics[1].test_metric == 0.5);
    assert_string_equal(h->metrics[1].culprit, "here");
    assert_null(h->metrics[0].culprit);
    assert_int_equal(h->numerics_count, 1);
    const hu_numerics_record *record = h->numerics;
    assert_true(record->step == 9 && record->steps == 10 && record->skipped);
    assert_int_equal(record->tensor_count, 2);
    const hu_tensor_record *t = record->tensor;
    assert_string_equal(h->tensors.name[t[0].tensor], "conv1.out");
    assert_string_equal(h->formats.name[t[1].format], "fp16");
    assert_int_equal(t[0].counts.elements, 100);
    assert_int_equal(t[0].counts.overflow, 1);
    assert_int_equal(t[0].counts.underflow, 2);
    assert_int_equal(t[0].counts.subnormal, 3);
    assert_int_equal(t[0].counts.zero, 4);
    assert_int_equal(t[0].counts.nan, 5);
    assert_int_equal(t[0].counts.max_exponent, 6);
    assert_int_equal(t[0].counts.min_exponent, -7);
    assert_true(t[0].most_overflow == 0.25 && t[0].most_underflow == 0.5);
    assert_true(t[0].most_subnormal == 0.75);
    assert_int_equal(t[1].counts.max_exponent, HU_NO_EXPONENT);
    assert_int_equal(record->product_count, 1);
    assert_string_equal(h->products.name[record->product[0].product], "conv1.forward");
    assert_int_equal(record->product[0].subnormal, 2);
    assert_int_equal(h->event_count, 1);
    assert_string_equal(h->events[0].kind, "overflow");
    assert_int_equal(h->events[0].tensor, hu_names_find(&h->tensors, "conv1.out"));
    assert_int_equal(h->promotion_count, 1);
    assert_string_equal(h->formats.name[h->promotions[0].to], "1/6/9");
    assert_int_equal(h->histogram_count, 1);
    assert_int_equal(h->histograms[0].tensor[0].exponents.bin[2], 5);
    assert_int_equal(h->histograms[0].tensor[0].exponents.first, -149);
    assert_int_equal(h->histograms[0].tensor[1].exponents.zero, 4);
    assert_int_equal(h->bits_count, 2);
    assert_int_equal(h->bits[0].count, 2);
    assert_string_equal(h->layers.name[h->bits[0].change[1].layer], "fc");
    assert_int_equal(h->bits[0].change[1].gradient, 6);
    assert_int_equal(h->bits[1].step, 7);
    assert_int_equal(h->bits[1].change[0].layer, h->bits[0].change[1].layer);
    assert_int_equal(h->bits[1].change[0].forward, 5);
    assert_non_null(h->plan);
    assert_int_equal(h->plan->memory[1].bytes, 32);
    assert_string_equal(h->plan->group[0].tensor[1], "b");
    hu_history_free(h);
}

/* Rows add up how long an event held; what no line has told of as an event is left out. */
static void held_events_add_up(void **state) {
    (void)state;
    hu_history *h = read_whole();
    assert_true(h->events[0].steps == 0 && h->events[0].last == 9 && !h->numerics[0].has_held);
    hu_history_free(h);
    FILE *file = fopen(path_of("numerics.jsonl"), "a");
    fputs(later, file);
    fclose(file);
    h = read_whole();
    assert_int_equal(h->event_count, 1);
    const hu_event_record *event = h->events;
    assert_true(event->step == 9 && event->last == 14 && event->steps == 3);
    assert_true(event->held == 39 && event->could_be == 300);
    assert_true(event->count == 1 && event->elements == 100);
    assert_true(h->numerics[1].has_held);
    const hu_update_record *update = h->numerics[2].update;
    assert_true(h->numerics[2].update_count == 1 && update->asked == 9 && update->lost == 4);
    assert_string_equal(h->tensors.name[update->tensor], "conv1.weight");
    /* Older rows have no terms. */
    assert_int_equal(h->numerics[0].product[0].terms, 0);
    assert_int_equal(h->numerics[2].product[0].terms, 40);
    assert_int_equal(h->numerics[2].product[0].stalled, 7);
    hu_history_free(h);
}

/* Compared one with the other, these would take some 10^9 texts. */
static void many_events_are_found_in_no_time(void **state) {
    (void)state;
    enum { MANY = 50000 };
    clock_t start = clock();
    FILE *file = fopen(path_of("numerics.jsonl"), "a");
    fputs("{\"step\": 50, \"events\": [", file);
    for (int i = 0; i < MANY; i++)
        fprintf(file, "%s[\"a\", \"the same beginning %d\", \"fp16\", 1, 2]", i ? "," : "", i);
    fputs("]}\n{\"step\": 60, \"steps\": 10, \"tensors\": [], \"held\": [", file);
    for (int i = 0; i < MANY; i++)
        fprintf(file, "%s[\"a\", \"the same beginning %d\", %d, 59, 1, 2]", i ? "," : "", i, i);
    fputs("]}\n", file);
    assert_int_equal(fclose(file), 0);
    hu_history *h = read_whole();
    assert_int_equal(h->event_count, 1 + MANY);
    for (int i = 0; i < MANY; i++) assert_int_equal(h->events[1 + i].steps, i);
    hu_history_free(h);
    assert_true(clock() - start < 20 * CLOCKS_PER_SEC);
    write_file("numerics.jsonl", "{\"step\": 0, \"events\": [[\"a\", \"nan\", \"fp16\", 1, 2]]}\n");
    file = fopen(path_of("numerics.jsonl"), "a");
    for (int i = 0; i < 1025; i++)
        fputs("{\"step\": 1, \"steps\": 1, \"tensors\": [], \"held\": "
              "[[\"a\", \"nan\", 9007199254740992, 1, 1, 2]]}\n",
              file);
    fclose(file);
    assert_int_equal(hu_history_read(folder, &h), HU_ERR_CORRUPT);
    assert_non_null(strstr(hu_last_error(), "line 1025: held: found 9007199254740992 steps"));
}

/* result.json tells whether a run diverged; one that cannot be read is told of, no more. */
static void the_end_is_told_by_the_result(void **state) {
    (void)state;
    hu_history *h = read_whole();
    assert_null(h->diverged);
    hu_history_free(h);
    write_file("result.json",
               "{\"test_accuracy\": null, \"ledger_bytes\": {}, \"diverged\": \"so\"}\n");
    h = read_whole();
    assert_string_equal(h->diverged, "so");
    assert_string_equal(h->warning, "");
    hu_history_free(h);
    write_file("result.json", "{\n");
    h = read_whole();
    assert_null(h->diverged);
    assert_non_null(strstr(h->warning, "result.json"));
    hu_history_free(h);
}

static void optional_files_may_miss(void **state) {
    (void)state;
    unlink(path_of("plan.json"));
    unlink(path_of("histograms.jsonl"));
    unlink(path_of("bits.jsonl"));
    hu_history *h = read_whole();
    assert_null(h->plan);
    assert_int_equal(h->bits_count, 0);
    assert_int_equal(h->histogram_count, 0);
    hu_history_free(h);
    unlink(path_of("numerics.jsonl"));
    assert_int_equal(hu_history_read(folder, &h), HU_ERR_MISSING);
    assert_non_null(strstr(hu_last_error(), "numerics.jsonl"));
    assert_null(h);
}

static void no_folder_is_an_error(void **state) {
    hu_history *h;
    (void)state;
    assert_int_equal(hu_history_read("/tmp/no-such-run", &h), HU_ERR_MISSING);
    assert_non_null(strstr(hu_last_error(), "/tmp/no-such-run: no run folder"));
}

/* Every length of an interrupted write: the whole lines are present, the rest is named. */
static void a_cut_line_is_left_out(void **state) {
    char text[sizeof row];
    (void)state;
    for (size_t length = 0; length < sizeof row; length++) {
        memcpy(text, row, length);
        text[length] = '\0';
        write_file("numerics.jsonl", text);
        hu_history *h = read_whole();
        bool is_whole = length == sizeof row - 1;
        assert_int_equal(h->numerics_count, is_whole);
        bool is_cut = length > 0 && !is_whole;
        if (is_cut)
            assert_string_equal(h->warning, "numerics.jsonl: line 1 has no end and is left out");
        else
            assert_string_equal(h->warning, "");
        hu_history_free(h);
    }
}

/* What a full disk or a loss of power left of lines, between whole ones. */
static void parts_of_lines_are_left_out(void **state) {
    static const char *const parts[] = {"\n", "25, 0.5, 0.75]]}\n", "[1]\n", "no JSON\n"};
    char text[2 * sizeof row + 64];
    (void)state;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        snprintf(text, sizeof text, "%s%s%s", row, parts[i], row);
        write_file("numerics.jsonl", text);
        hu_history *h = read_whole();
        assert_int_equal(h->numerics_count, 2);
        assert_string_equal(h->warning,
                            "numerics.jsonl: line 2, or more, are parts of lines and left out");
        hu_history_free(h);
    }
}

/* A part of the file that never came to the disk: zeros in the middle of a line. */
static void a_line_with_a_hole_is_left_out(void **state) {
    (void)state;
    FILE *file = fopen(path_of("numerics.jsonl"), "w");
    assert_non_null(file);
    fprintf(file, "{\"step\": 3, %c%c]}\n%s", 0, 0, row);
    assert_int_equal(fclose(file), 0);
    hu_history *h = read_whole();
    assert_int_equal(h->numerics_count, 1);
    assert_non_null(strstr(h->warning, "numerics.jsonl: line 1, or more"));
    hu_history_free(h);
}

static void fails_with(const char *name, const char *text, hu_status status, const char *words) {
    hu_history *h;
    write_file(name, text);
    hu_status st = hu_history_read(folder, &h);
    if (st != status || !strstr(hu_last_error(), words))
        fail_msg("%s: %s: status %d, '%s', expected %d with '%s'", name, text, (int)st,
                 hu_last_error(), (int)status, words);
    assert_null(h);
}

static void damage_is_named_with_its_line(void **state) {
    (void)state;
    fails_with("numerics.jsonl", "{\n", HU_ERR_CORRUPT, "numerics.jsonl, line 1: ");
    fails_with("numerics.jsonl", "{\"step\": 1, \"tensors\": []\n", HU_ERR_CORRUPT, "line 1");
    fails_with("numerics.jsonl", "{\"tensors\": []}\n", HU_ERR_CORRUPT, "step: found nothing");
    fails_with("numerics.jsonl", "{\"step\": 1, \"tensors\": []}\n", HU_ERR_VERSION, "steps");
    fails_with("numerics.jsonl", "{\"step\": 1, \"steps\": 1, \"tensors\": [[\"a\", \"b\", 3]]}\n",
               HU_ERR_VERSION, "has 3 columns, expected 13");
    fails_with("numerics.jsonl",
               "{\"step\": 1, \"steps\": 1, \"tensors\": [[\"a\", \"b\", -3, 0, 0, 0, 0, 0, null, "
               "null, 0, 0, 0]]}\n",
               HU_ERR_CORRUPT, "elements: found -3");
    fails_with("numerics.jsonl",
               "{\"step\": 1, \"steps\": 1, \"tensors\": [[\"a\", \"b\", 3, 0, 0, 0, 0, 0, 512, "
               "null, 0, 0, 0]]}\n",
               HU_ERR_CORRUPT, "max_exponent: found 512");
    fails_with("numerics.jsonl",
               "{\"step\": 0, \"steps\": 1, \"tensors\": []}\n{\"step\": 1, \"events\": [7]}\n",
               HU_ERR_CORRUPT, "line 2: event: found an integer, expected a list");
    write_file("numerics.jsonl", row);
    fails_with("histograms.jsonl", "{\"step\": 0, \"tensors\": [[\"a\", 3, 1, 1, 0, [2]]]}\n",
               HU_ERR_CORRUPT, "bins add up to 4, expected 3");
    fails_with("histograms.jsonl", "{\"step\": 0, \"tensors\": [[\"a\", 3, 1, 1, 128, [1]]]}\n",
               HU_ERR_CORRUPT, "expected all in -149..127");
    fails_with("histograms.jsonl",
               "{\"step\": 0, \"tensors\": [[\"a\", 3, 1, 1, -9007199254740992, [1]]]}\n",
               HU_ERR_CORRUPT, "expected all in -149..127");
    fails_with("histograms.jsonl",
               "{\"step\": 0, \"tensors\": [[\"a\", 3, 1, 1, 9007199254740992, [1]]]}\n",
               HU_ERR_CORRUPT, "expected all in -149..127");
    fails_with("histograms.jsonl",
               "{\"step\": 0, \"tensors\": [[\"a\", 3, 1, 1, 9223372036854775807, [1]]]}\n",
               HU_ERR_CORRUPT, "expected at most 2^53");
    fails_with("histograms.jsonl", "{\"step\": 0, \"tensors\": [[\"a\", 3, 1, 1, 0, [1], 2.5]]}\n",
               HU_ERR_CORRUPT, "largest: found 2.5, expected it in the last bin");
    write_file("histograms.jsonl", histogram);
    fails_with("metrics.jsonl", "{\"step\": 0, \"epoch\": 0, \"loss\": \"big\"}\n", HU_ERR_CORRUPT,
               "loss: found a text, expected a number");
    write_file("metrics.jsonl", metrics);
    fails_with("bits.jsonl", "{\"step\": 0, \"bits\": [[\"a\", 33, 8]]}\n", HU_ERR_CORRUPT,
               "found 33 bits");
    fails_with("bits.jsonl", "{\"step\": 0, \"bits\": [[\"a\", 3]]}\n", HU_ERR_VERSION,
               "bits.jsonl, line 1");
    fails_with("bits.jsonl", "{\"step\": 0}\n", HU_ERR_CORRUPT, "bits.jsonl, line 1");
    write_file("bits.jsonl", bits);
    fails_with("plan.json", "{\n\"tensor_elements\": }\n", HU_ERR_CORRUPT, "plan.json, line 2");
    fails_with("plan.json", "{\"tensor_elements\": \"x\"}", HU_ERR_CORRUPT, "found a text");
    fails_with("plan.json", "7", HU_ERR_CORRUPT, "plan.json");
}

enum { LINES = 3001, FORMATS = 3 };

/* Line i: conv1.out in one of three formats by parts of the run, fc.out in every third line alone,
 * and products and updates. */
static void write_lines(void) {
    static const char *const formats[FORMATS] = {"fp16", "e5m2", "e4m3"};
    FILE *file = fopen(path_of("numerics.jsonl"), "w");
    assert_non_null(file);
    for (int i = 0; i < LINES; i++) {
        fprintf(file,
                "{\"step\": %d, \"steps\": 2, \"tensors\": [[\"conv1.out\", \"%s\", 100, %d, 1, 0, "
                "0, 0, %d, -9, %g, 0.0, 0.0]",
                2 * i + 1, formats[i / 1100], i % 7, i % 20, i == 1234 ? 0.75 : 0.25);
        if (i % 3 == 0)
            fputs(", [\"fc.out\", \"float32\", 10, 0, 0, 0, 2, 0, 1, 1, 0.0, 0.0, 0.0]", file);
        fprintf(file,
                "], \"products\": [[\"conv1.forward\", \"fmac:fp16\", 50, 2, %d, 40, 7]], "
                "\"updates\": [[\"conv1.weight\", 9, %d, 1]]}\n",
                i % 2, i % 5);
    }
    assert_int_equal(fclose(file), 0);
    file = fopen(path_of("histograms.jsonl"), "a");
    for (int step = 5; step < 8; step++)
        fprintf(file, "{\"step\": %d, \"tensors\": [[\"conv1.out\", 10, 9, 0, 3, [1]]]}\n", step);
    assert_int_equal(fclose(file), 0);
}

/* What all rows come to, by number of the format. */
typedef struct totals {
    int64_t steps, last_step;
    uint64_t elements[8], overflow[8], zero, most_exponent, products, updates;
    double most;
} totals;

static totals add_all(const hu_history *h) {
    totals all = {0};
    uint32_t conv = hu_names_find(&h->tensors, "conv1.out");
    for (size_t r = 0; r < h->numerics_count; r++) {
        const hu_numerics_record *record = &h->numerics[r];
        all.steps += record->steps;
        assert_true(record->step > all.last_step);
        all.last_step = record->step;
        for (uint32_t k = 0; k < record->tensor_count; k++) {
            const hu_tensor_record *t = &record->tensor[k];
            all.elements[t->format] += t->counts.elements;
            all.overflow[t->format] += t->counts.overflow;
            all.zero += t->counts.zero;
            all.most = fmax(all.most, t->most_overflow);
            if (t->tensor == conv && t->counts.max_exponent > (int32_t)all.most_exponent)
                all.most_exponent = (uint64_t)t->counts.max_exponent;
        }
        for (uint32_t k = 0; k < record->product_count; k++)
            all.products += record->product[k].overflow + record->product[k].stalled;
        for (uint32_t k = 0; k < record->update_count; k++)
            all.updates += record->update[k].asked + record->update[k].lost;
    }
    return all;
}

/* Nothing is lost of the sums; the first row is the file's own, the others are of equally many
 * lines but for the last. */
static void a_brief_history_has_the_same_sums(void **state) {
    hu_history *whole, *brief;
    (void)state;
    write_lines();
    assert_int_equal(hu_history_read(folder, &whole), HU_OK);
    assert_int_equal(hu_history_read_brief(folder, &brief), HU_OK);
    assert_int_equal(whole->numerics_count, LINES);
    assert_in_range(brief->numerics_count, HU_BRIEF_ROWS / 2, HU_BRIEF_ROWS);
    totals a = add_all(whole), b = add_all(brief);
    assert_memory_equal(&a, &b, sizeof a);
    assert_true(b.most == 0.75);
    assert_int_equal(brief->numerics[0].steps, 2);
    for (size_t r = 1; r + 1 < brief->numerics_count; r++)
        assert_int_equal(brief->numerics[r].steps, 2 * (int64_t)brief->brief_lines);
    assert_int_equal(whole->histogram_count, 4);
    assert_int_equal(brief->histogram_count, 2);
    assert_int_equal(brief->histograms[0].step, whole->histograms[0].step);
    assert_int_equal(brief->histograms[1].step, 7);
    assert_int_equal(brief->metrics_count, whole->metrics_count);
    hu_history_free(whole);
    hu_history_free(brief);
}

/* Of few rows it is the whole one. */
static void a_short_history_stays(void **state) {
    hu_history *brief;
    (void)state;
    assert_int_equal(hu_history_read_brief(folder, &brief), HU_OK);
    assert_int_equal(brief->numerics_count, 1);
    assert_true(brief->numerics[0].skipped && brief->numerics[0].tensor_count == 2);
    assert_int_equal(brief->histogram_count, 1);
    assert_int_equal(brief->event_count, 1);
    hu_history_free(brief);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(all_that_stands_there_is_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(held_events_add_up, set_up, tear_down),
        cmocka_unit_test_setup_teardown(many_events_are_found_in_no_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_end_is_told_by_the_result, set_up, tear_down),
        cmocka_unit_test_setup_teardown(optional_files_may_miss, set_up, tear_down),
        cmocka_unit_test(no_folder_is_an_error),
        cmocka_unit_test_setup_teardown(a_cut_line_is_left_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(parts_of_lines_are_left_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_line_with_a_hole_is_left_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_brief_history_has_the_same_sums, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_short_history_stays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(damage_is_named_with_its_line, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
