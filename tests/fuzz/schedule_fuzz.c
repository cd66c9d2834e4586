/* Knots and milestones of a learning rate. */
#include "fuzz.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/lr_schedule.h"

enum { PRINTED_BYTES = HU_MAX_KNOTS * 64 };

static bool same_bits(const hu_schedule *a, const hu_schedule *b) {
    return memcmp(a, b, sizeof *a) == 0;
}

/* Rates at, between and after the places. */
static void check_rates(const hu_schedule *schedule) {
    static const int64_t steps[] = {0, 1, 7, 8, 1000, INT64_MAX / 2, INT64_MAX};
    if (hu_schedule_check(schedule) != HU_OK) return;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        double lr = hu_schedule_lr(schedule, steps[i], 8, 1000);
        FUZZ_CHECK(isfinite(lr) && lr >= 0);
    }
}

static void check_knots(const char *text) {
    hu_schedule schedule, before, again;
    memset(&schedule, 0, sizeof schedule);
    schedule.kind = HU_SCHEDULE_PIECEWISE;
    schedule.warmup = 3;
    before = again = schedule;
    hu_status st = hu_schedule_parse_knots(text, &schedule);
    if (st != HU_OK) {
        FUZZ_CHECK(st == HU_ERR_PARSE && same_bits(&schedule, &before));
        return;
    }
    char printed[PRINTED_BYTES] = "";
    FUZZ_CHECK(schedule.knot_count >= 1 && schedule.knot_count <= HU_MAX_KNOTS);
    for (int i = 0; i < schedule.knot_count; i++) {
        size_t used = strlen(printed);
        snprintf(printed + used, sizeof printed - used, "%s%.17g:%.17g", i ? "," : "",
                 schedule.knots[i].at, schedule.knots[i].lr);
    }
    FUZZ_CHECK(hu_schedule_parse_knots(printed, &again) == HU_OK);
    FUZZ_CHECK(same_bits(&schedule, &again));
    check_rates(&schedule);
}

static void check_milestones(const char *text) {
    hu_schedule schedule, before, again;
    memset(&schedule, 0, sizeof schedule);
    schedule.kind = HU_SCHEDULE_STEP;
    schedule.lr = schedule.factor = 0.5;
    before = again = schedule;
    hu_status st = hu_schedule_parse_milestones(text, &schedule);
    if (st != HU_OK) {
        FUZZ_CHECK(st == HU_ERR_PARSE && same_bits(&schedule, &before));
        return;
    }
    char printed[PRINTED_BYTES] = "";
    FUZZ_CHECK(schedule.milestone_count >= 1 && schedule.milestone_count <= HU_MAX_MILESTONES);
    for (int i = 0; i < schedule.milestone_count; i++) {
        size_t used = strlen(printed);
        snprintf(printed + used, sizeof printed - used, "%s%lld", i ? "," : "",
                 (long long)schedule.milestones[i]);
    }
    FUZZ_CHECK(hu_schedule_parse_milestones(printed, &again) == HU_OK);
    FUZZ_CHECK(same_bits(&schedule, &again));
    FUZZ_CHECK(hu_schedule_check(&schedule) == HU_OK);
    check_rates(&schedule);
}

static void check_names(const char *text) {
    hu_schedule_kind kind;
    hu_schedule_unit unit;
    if (hu_schedule_parse(text, &kind) == HU_OK)
        FUZZ_CHECK(strcmp(hu_schedule_kinds[kind].name, text) == 0);
    if (hu_schedule_parse_unit(text, &unit) == HU_OK)
        FUZZ_CHECK(strcmp(hu_schedule_units[unit].name, text) == 0);
}

/* A schedule of any kind, out of a table of numbers: what is accepted gives rates. */
static void check_fields(const uint8_t *data, size_t size) {
    static const double table[] = {0,  0.5, 1,        2,   1.5,  10,       0.1, 1e-3,
                                   -1, NAN, INFINITY, 1e3, 0.25, 0x1p-149, 7,   1e300};
    enum { NUMBERS = sizeof table / sizeof *table };
    fuzz_cursor cursor = {data, size, 0};
    hu_schedule schedule = hu_schedule_constant(table[fuzz_u8(&cursor) % NUMBERS]);
    double *fields[] = {&schedule.floor,   &schedule.power,     &schedule.period,
                        &schedule.stretch, &schedule.shrink,    &schedule.factor,
                        &schedule.warmup,  &schedule.threshold, &schedule.warmup_start};
    schedule.kind = fuzz_u8(&cursor) % (HU_SCHEDULE_COUNT + 1);
    schedule.unit = fuzz_u8(&cursor) % (HU_UNIT_COUNT + 1);
    schedule.warmup_unit = fuzz_u8(&cursor) % HU_UNIT_COUNT;
    schedule.patience = fuzz_u8(&cursor);
    schedule.every = (int8_t)fuzz_u8(&cursor);
    for (size_t i = 0; i < sizeof fields / sizeof *fields && cursor.offset < size; i++)
        *fields[i] = table[fuzz_u8(&cursor) % NUMBERS];
    if (schedule.factor <= 1) check_rates(&schedule); /* others grow without bound */
}

void fuzz_one(const uint8_t *data, size_t size) {
    char *text = fuzz_text(data, size);
    check_knots(text);
    check_milestones(text);
    check_names(text);
    free(text);
    check_fields(data, size);
}

bool fuzz_seed(size_t index, hu_byte_writer *seed) {
    static const char *const texts[] = {
        "0:0,5:0.4,24:0", " 0 : 1e-3 , 0x1p4 : .5 ,1e300:1.7e308", "32000,48000",
        " 1 , 2 , 9223372036854775807", "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16",
        "0:1,1:1,2:1,3:1,4:1,5:1,6:1,7:1,8:1,9:1,10:1,11:1,12:1,13:1,14:1,15:1", "-1:+2",
        /* rate, kind, units, patience, milestones, floor, power, period, stretch, shrink, factor,
         * warm-up, threshold */
        "\2\2\1\1\2\3\6\1\2\2\2\1\5\1", "\2\4\1\1\2\3\6\1\2\2\2\1\5\1",
        "\2\5\1\1\2\3\6\1\2\4\2\1\5\1", "\2\7\1\1\2\3\6\1\2\2\2\1\5\1",
        "\2\10\1\1\2\3\6\1\2\2\2\1\5\1", "\2\12\1\1\2\3\6\1\2\2\2\1\5\1",
        "\2\13\1\1\2\3\6\1\2\2\2\1\5\1", "\2\1\1\1\2\3\6\1\2\2\2\1\5\1", "cosine", "epoch"};
    return index < sizeof texts / sizeof *texts && fuzz_text_seed(texts[index], seed);
}
