#include "train/lr_schedule.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

const hu_kind hu_schedule_kinds[HU_SCHEDULE_COUNT] = {
    [HU_SCHEDULE_CONSTANT] = {"constant", "the same rate in every step"},
    [HU_SCHEDULE_STEP] = {"step", "times a factor at milestones, or every so many units"},
    [HU_SCHEDULE_COSINE] = {"cosine", "half a cosine down to a floor"},
    [HU_SCHEDULE_LINEAR] = {"linear", "a straight line down to a floor"},
    [HU_SCHEDULE_POLY] = {"poly", "a power of the share that is left, down to a floor"},
    [HU_SCHEDULE_RESTARTS] = {"restarts", "half cosines one behind the other"},
    [HU_SCHEDULE_PIECEWISE] = {"piecewise", "straight lines between knots"},
    [HU_SCHEDULE_INVERSE_SQRT] = {"inverse_sqrt",
                                  "one over the root of the steps, behind a warm-up"},
    [HU_SCHEDULE_ANNEAL] = {"anneal", "times a factor in every unit"},
    [HU_SCHEDULE_PLATEAU] = {"plateau", "times a factor where evaluations get no better"},
    [HU_SCHEDULE_PLATEAU_LOSS] = {"plateau_loss", "times a factor where the loss gets worse"},
    [HU_SCHEDULE_NOAM] = {"noam", "up in a line, then down as one over the root of the steps"},
};

const hu_kind hu_schedule_units[HU_UNIT_COUNT] = {
    [HU_UNIT_STEP] = {"step", "optimizer steps"},
    [HU_UNIT_EPOCH] = {"epoch", "passes over the data"},
};

hu_status hu_schedule_parse(const char *name, hu_schedule_kind *kind) {
    size_t index;
    hu_status st =
        hu_registry_parse("schedule", hu_schedule_kinds, HU_SCHEDULE_COUNT, name, &index);
    *kind = (hu_schedule_kind)index;
    return st;
}

hu_status hu_schedule_parse_unit(const char *name, hu_schedule_unit *unit) {
    size_t index;
    hu_status st = hu_registry_parse("unit", hu_schedule_units, HU_UNIT_COUNT, name, &index);
    *unit = (hu_schedule_unit)index;
    return st;
}

hu_schedule hu_schedule_constant(double lr) {
    return (hu_schedule){.kind = HU_SCHEDULE_CONSTANT,
                         .lr = lr,
                         .unit = HU_UNIT_EPOCH,
                         .factor = 0.1,
                         .power = 0.9,
                         .stretch = 1,
                         .shrink = 1,
                         .patience = 10,
                         .threshold = 1e-4};
}

/* A list being read; the rest of the text is at + 1 - text columns in. */
typedef struct list_reader {
    const char *what;
    const char *text;
    const char *at;
} list_reader;

/* Columns count from 1. */
static hu_status fail_here(const list_reader *reader, const char *expected) {
    char found[32];
    if (*reader->at)
        snprintf(found, sizeof found, "'%.16s'", reader->at);
    else
        snprintf(found, sizeof found, "the end");
    return hu_fail(HU_ERR_PARSE, "%s: column %td: found %s, expected %s", reader->what,
                   reader->at - reader->text + 1, found, expected);
}

static void skip_spaces(list_reader *reader) {
    while (*reader->at == ' ') reader->at++;
}

/* A decimal number; "nan" and "inf" are refused before strtod takes them. */
static hu_status read_number(list_reader *reader, double *number) {
    skip_spaces(reader);
    char *end;
    const char *p = reader->at + (*reader->at == '-' || *reader->at == '+');
    bool starts = isdigit((unsigned char)*p) || *p == '.'; /* neither nan nor inf */
    *number = starts ? strtod(reader->at, &end) : 0;
    if (!starts || end == reader->at || !isfinite(*number))
        return fail_here(reader, "a finite number");
    reader->at = end;
    skip_spaces(reader);
    return HU_OK;
}

/* A whole number from 0 to 2^63 - 1. */
static hu_status read_count(list_reader *reader, int64_t *count) {
    skip_spaces(reader);
    if (!isdigit((unsigned char)*reader->at)) return fail_here(reader, "a whole number");
    char *end;
    errno = 0;
    long long value = strtoll(reader->at, &end, 10);
    if (errno != 0) return fail_here(reader, "a whole number below 2^63");
    reader->at = end;
    *count = value;
    skip_spaces(reader);
    return HU_OK;
}

/* Whether the list goes on after an element; steps over the comma. */
static hu_status read_comma(list_reader *reader, bool *more) {
    *more = *reader->at == ',';
    if (!*more && *reader->at) return fail_here(reader, "',' or the end");
    if (*more) reader->at++;
    return HU_OK;
}

/* Reads into a copy: on failure the schedule stays as it was. */
hu_status hu_schedule_parse_knots(const char *text, hu_schedule *schedule) {
    hu_status st = HU_OK;
    list_reader reader = {"knots", text, text};
    hu_schedule_knot knots[HU_MAX_KNOTS] = {0};
    int count = 0;
    bool more = true;
    while (more) {
        if (count == HU_MAX_KNOTS) HU_TRY(fail_here(&reader, "at most 16 knots"));
        skip_spaces(&reader);
        list_reader start = reader;
        hu_schedule_knot *knot = &knots[count];
        HU_TRY(read_number(&reader, &knot->at));
        if (count > 0 && knot->at <= knots[count - 1].at)
            HU_TRY(fail_here(&start, "a later place than the knot before"));
        if (*reader.at != ':') HU_TRY(fail_here(&reader, "':' and the rate"));
        reader.at++;
        HU_TRY(read_number(&reader, &knot->lr));
        HU_TRY(read_comma(&reader, &more));
        count++;
    }
    memcpy(schedule->knots, knots, sizeof knots);
    schedule->knot_count = count;
done:
    return st;
}

hu_status hu_schedule_parse_milestones(const char *text, hu_schedule *schedule) {
    hu_status st = HU_OK;
    list_reader reader = {"milestones", text, text};
    int64_t milestones[HU_MAX_MILESTONES] = {0};
    int count = 0;
    bool more = true;
    while (more) {
        if (count == HU_MAX_MILESTONES) HU_TRY(fail_here(&reader, "at most 16 milestones"));
        skip_spaces(&reader);
        list_reader start = reader;
        HU_TRY(read_count(&reader, &milestones[count]));
        if (milestones[count] <= (count > 0 ? milestones[count - 1] : 0))
            HU_TRY(fail_here(&start, "a number > 0 and above the one before"));
        HU_TRY(read_comma(&reader, &more));
        count++;
    }
    memcpy(schedule->milestones, milestones, sizeof milestones);
    schedule->milestone_count = count;
done:
    return st;
}

static hu_status check_factor(const hu_schedule *schedule) {
    return hu_require_range("lr.factor", schedule->factor, 0x1p-149, INFINITY,
                            "a finite number > 0");
}

/* Steps down need a factor, and either milestones or a distance between them. */
static hu_status check_milestones(const hu_schedule *schedule) {
    hu_status st = HU_OK;
    int count = schedule->milestone_count;
    HU_TRY(check_factor(schedule));
    HU_TRY(hu_require_range("lr.every", (double)schedule->every, 0, INFINITY,
                            "0 or a number of units"));
    HU_TRY(hu_require_range("number of lr.milestones", count, 0, HU_MAX_MILESTONES + 1, "0..16"));
    if (count == 0 && schedule->every == 0)
        HU_TRY(hu_fail(HU_ERR_ARGUMENT, "lr.milestones: found none, expected the epochs or steps "
                                        "at which the step schedule lowers the rate"));
    if (count > 0 && schedule->every > 0)
        HU_TRY(hu_fail(HU_ERR_ARGUMENT,
                       "lr.milestones: found %d beside a milestone at every %lld units, expected "
                       "one of the two",
                       count, (long long)schedule->every));
    for (int i = 0; i < count; i++)
        if (schedule->milestones[i] <= (i > 0 ? schedule->milestones[i - 1] : 0))
            HU_TRY(hu_fail(HU_ERR_ARGUMENT,
                           "lr.milestones[%d]: found %lld, expected > 0 and above the one before",
                           i, (long long)schedule->milestones[i]));
done:
    return st;
}

/* Places ascend strictly, so that no division by zero can follow. */
static hu_status check_knots(const hu_schedule *schedule) {
    hu_status st = HU_OK;
    HU_TRY(
        hu_require_range("number of lr.knots", schedule->knot_count, 1, HU_MAX_KNOTS + 1, "1..16"));
    for (int i = 0; i < schedule->knot_count; i++) {
        const hu_schedule_knot *knot = &schedule->knots[i];
        double low = i > 0 ? nextafter(knot[-1].at, INFINITY) : 0;
        HU_TRY(hu_require_range("place of a knot of lr.knots", knot->at, low, INFINITY,
                                "a finite number >= 0 and above the knot before"));
        HU_TRY(hu_require_range("rate of a knot of lr.knots", knot->lr, 0, INFINITY,
                                "a finite number >= 0"));
    }
done:
    return st;
}

/* At least one unit per cosine, so that their number is bounded by the steps. */
static hu_status check_restarts(const hu_schedule *s) {
    hu_status st = HU_OK;
    HU_TRY(hu_require_range("lr.period", s->period, 1, INFINITY,
                            "the units (lr.per) of the first cosine, at least 1"));
    HU_TRY(hu_require_range("lr.stretch", s->stretch, 1, INFINITY, "a finite number >= 1"));
    HU_TRY(hu_require_range("lr.shrink", s->shrink, 0, nextafter(1, 2), "a number from 0 to 1"));
done:
    return st;
}

/* What makes the rate fall, and how far. */
static hu_status check_plateau(const hu_schedule *s) {
    hu_status st = HU_OK;
    HU_TRY(hu_require_range("lr.factor", s->factor, 0x1p-149, 1, "a number above 0 and below 1"));
    HU_TRY(hu_require_range("lr.patience", (double)s->patience, 1, INFINITY,
                            "a number of evaluations, at least 1"));
    HU_TRY(
        hu_require_range("lr.threshold", s->threshold, 0, nextafter(1, 2), "a number from 0 to 1"));
    if (s->kind == HU_SCHEDULE_PLATEAU_LOSS)
        HU_TRY(hu_require_range("lr.period", s->period, 1, INFINITY,
                                "the units (lr.per) whose losses make a mean, at least 1"));
done:
    return st;
}

static bool is_plateau(hu_schedule_kind kind) {
    return kind == HU_SCHEDULE_PLATEAU || kind == HU_SCHEDULE_PLATEAU_LOSS;
}

/* The top of the rate is at the end of the warm-up. */
static hu_status check_roots(const hu_schedule *s) {
    if (s->warmup > 0) return HU_OK;
    return hu_fail(HU_ERR_ARGUMENT,
                   "lr.warmup: found %g, expected > 0: schedule %s falls from the end of it on",
                   s->warmup, hu_schedule_kinds[s->kind].name);
}

static bool has_floor(hu_schedule_kind kind) {
    return kind == HU_SCHEDULE_COSINE || kind == HU_SCHEDULE_LINEAR || kind == HU_SCHEDULE_POLY ||
           kind == HU_SCHEDULE_RESTARTS || is_plateau(kind);
}

hu_status hu_schedule_check(const hu_schedule *s) {
    hu_status st = HU_OK;
    HU_TRY(hu_require_range("lr.kind", s->kind, 0, HU_SCHEDULE_COUNT, "a known kind"));
    HU_TRY(hu_require_range("lr.unit", s->unit, 0, HU_UNIT_COUNT, "step or epoch"));
    HU_TRY(hu_require_range("lr.warmup_unit", s->warmup_unit, 0, HU_UNIT_COUNT, "step or epoch"));
    HU_TRY(hu_require_range("lr.warmup", s->warmup, 0, INFINITY, "a finite number >= 0"));
    HU_TRY(hu_require_range("lr.warmup_start", s->warmup_start, 0, nextafter(1, 2),
                            "a number from 0 to 1"));
    if (s->kind == HU_SCHEDULE_PIECEWISE) return check_knots(s);
    HU_TRY(hu_require_range("lr", s->lr, 0, INFINITY, "a finite number >= 0"));
    if (s->kind == HU_SCHEDULE_STEP) HU_TRY(check_milestones(s));
    if (s->kind == HU_SCHEDULE_ANNEAL) HU_TRY(check_factor(s));
    if (s->kind == HU_SCHEDULE_RESTARTS) HU_TRY(check_restarts(s));
    if (is_plateau(s->kind)) HU_TRY(check_plateau(s));
    if (s->kind == HU_SCHEDULE_INVERSE_SQRT || s->kind == HU_SCHEDULE_NOAM) HU_TRY(check_roots(s));
    if (s->kind == HU_SCHEDULE_POLY)
        HU_TRY(hu_require_range("lr.power", s->power, 0x1p-149, INFINITY, "a finite number > 0"));
    if (has_floor(s->kind))
        HU_TRY(hu_require_range("lr.floor", s->floor, 0, nextafter(s->lr, INFINITY),
                                "a number from 0 to lr"));
done:
    return st;
}

/* lr factor^passed: each milestone that is passed lowers the rate once more. */
static double after_milestones(const hu_schedule *s, int64_t units) {
    int64_t passed = 0;
    if (s->milestone_count == 0 && s->every > 0) passed = units / s->every;
    for (int i = 0; i < s->milestone_count; i++) passed += units >= s->milestones[i];
    return s->lr * pow(s->factor, (double)passed);
}

/* Straight lines between knots, flat before the first and after the last. */
static double between_knots(const hu_schedule *s, double at) {
    const hu_schedule_knot *k = s->knots;
    if (at <= k[0].at) return k[0].lr;
    for (int i = 1; i < s->knot_count; i++) {
        if (at >= k[i].at) continue;
        double share = (at - k[i - 1].at) / (k[i].at - k[i - 1].at);
        return k[i - 1].lr + (k[i].lr - k[i - 1].lr) * share;
    }
    return k[s->knot_count - 1].lr;
}

/* Share of the decay that is done after units, 0..1. */
static double progress(double units, double start, double end) {
    if (units <= start) return 0;
    return units >= end ? 1 : (units - start) / (end - start);
}

/* From top to floor. */
static double half_cosine(double top, double floor, double done) {
    const double pi = 3.14159265358979323846;
    return done < 1 ? floor + (top - floor) * (1 + cos(pi * done)) / 2 : floor;
}

/* units: since the end of the warm-up. */
static double after_restarts(const hu_schedule *s, double units) {
    double begin = 0, length = s->period, top = s->lr;
    if (s->stretch == 1) { /* no sum of many lengths */
        double whole = floor(units / length);
        begin = whole * length;
        top *= pow(s->shrink, whole);
    } else {
        for (; units >= begin + length; length *= s->stretch) {
            begin += length;
            top *= s->shrink;
        }
    }
    return half_cosine(fmax(top, s->floor), s->floor, (units - begin) / length);
}

/* warmup >= 1 steps, and a step from 1 on. */
static double after_root(double lr, double warmup, double step) {
    return step < warmup ? lr : lr * sqrt(warmup / step);
}

double hu_schedule_lr(const hu_schedule *s, int64_t step, int64_t steps_per_epoch,
                      int64_t total_steps) {
    int64_t unit_steps = s->unit == HU_UNIT_EPOCH ? steps_per_epoch : 1;
    int64_t units = step / unit_steps; /* whole ones */
    double warmup_steps =
        s->warmup * (s->warmup_unit == HU_UNIT_EPOCH ? (double)steps_per_epoch : 1.0);
    if (s->kind == HU_SCHEDULE_NOAM) {
        double u = (double)step + 1;
        return after_root(s->lr * fmin(u / warmup_steps, 1), warmup_steps, u);
    }
    /* Decay begins where the warm-up ends, so that both never act on one step. */
    double start = warmup_steps / (double)unit_steps;
    double done = progress((double)units, start, (double)total_steps / (double)unit_steps);
    double lr = s->lr;
    if (s->kind == HU_SCHEDULE_STEP) lr = after_milestones(s, units);
    if (s->kind == HU_SCHEDULE_ANNEAL) lr = s->lr * pow(s->factor, (double)units);
    if (s->kind == HU_SCHEDULE_COSINE) lr = half_cosine(s->lr, s->floor, done);
    if (s->kind == HU_SCHEDULE_POLY) lr = s->floor + (s->lr - s->floor) * pow(1 - done, s->power);
    if (s->kind == HU_SCHEDULE_RESTARTS) lr = after_restarts(s, fmax((double)units - start, 0));
    if (s->kind == HU_SCHEDULE_LINEAR) lr = done < 1 ? s->lr + (s->floor - s->lr) * done : s->floor;
    if (s->kind == HU_SCHEDULE_PIECEWISE) lr = between_knots(s, (double)step / (double)unit_steps);
    if (s->kind == HU_SCHEDULE_INVERSE_SQRT) lr = after_root(s->lr, warmup_steps, (double)step);
    /* The ramp multiplies whatever the schedule says: a warm-up of a cosine begins at its top. */
    if ((double)step < warmup_steps)
        lr *= s->warmup_start + (1 - s->warmup_start) * ((double)step / warmup_steps);
    return lr;
}
