#include "explain/sums_words.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "explain/sums.h"

/* Adds to a text; one that is full keeps what it has. */
__attribute__((format(printf, 2, 3))) static void add(char *text, const char *form, ...) {
    size_t used = strlen(text);
    va_list values;
    va_start(values, form);
    vsnprintf(text + used, HU_SUMS_WORDS_BYTES - used, form, values);
    va_end(values);
}

/* ---- a death ---- */

/* Candidates whose largest power of two is beyond all sums. */
static void add_formats(const hu_explaining *x, int32_t reach, char *text) {
    bool is_any = false;
    for (int f = 0; f < x->run.candidates.count; f++) {
        if (hu_format_limits_of(&x->run.candidates.format[f]).emax < reach) continue;
        add(text, "%s%s",
            is_any ? ", " : "; accumulators that reach there: ", x->run.candidates.name[f]);
        is_any = true;
    }
    add(text, is_any ? "" : "; no format tried reaches there");
}

const char *hu_sums_death_words(const hu_explaining *x, const hu_death *death,
                                char text[HU_SUMS_WORDS_BYTES]) {
    enum { FLOAT32_TOP = 128 };
    text[0] = '\0';
    if (!death->adder) return text;
    if (!death->sums)
        add(text,
            "%s adds in %s, which is the first suspect: its sums were not counted in that step\n"
            "(accumulator.count_every=1 counts those of every step).\n",
            death->adder->name, death->adder->text);
    if (death->kind == HU_DEATH_ZERO || death->kind == HU_DEATH_SUMS_FLUSHED ||
        death->kind == HU_DEATH_SUMS_STALLED)
        return text;
    int32_t reach = hu_sums_reach(&x->why, death);
    if (reach == HU_NO_EXPONENT) return text;
    add(text, "By the largest numbers of its factors ");
    if (reach > FLOAT32_TOP) {
        add(text, "its sums may be beyond float32, too: below 2^%d.\n", reach);
        return text;
    }
    add(text, "its sums are below 2^%d, which float32 holds", reach);
    add_formats(x, reach, text);
    add(text, ".\n");
    return text;
}

/* ---- a run ---- */

static void add_worst(const hu_explaining *x, hu_death_kind kind, const char *words, char *text) {
    hu_worst_sums worst = hu_sums_worst(&x->why, kind);
    if (!worst.product) return;
    add(text, "  %s (%.80s): %.3g %% %s (step %lld).\n", worst.product, worst.accumulator,
        100.0 * worst.share, words, (long long)worst.step);
}

const char *hu_sums_run_words(const hu_explaining *x, char text[HU_SUMS_WORDS_BYTES]) {
    bool is_counted = hu_sums_are_counted(&x->why);
    text[0] = '\0';
    if (x->run.adders.count == 0 && !is_counted) return text;
    if (!is_counted) {
        add(text,
            "Sums of %u products are made in accumulators of their own, which were not counted\n"
            "(accumulator.count_every=): whether they lost anything is not known.\n",
            (unsigned)x->run.adders.count);
        return text;
    }
    add(text, "Sums of products, in the worst of the counted steps:\n");
    size_t head = strlen(text);
    add_worst(x, HU_DEATH_SUMS_SATURATED, "were too large for the accumulator", text);
    add_worst(x, HU_DEATH_SUMS_FLUSHED, "were too small for the accumulator and became zero", text);
    add_worst(x, HU_DEATH_SUMS_STALLED, "of the terms changed nothing", text);
    if (text[head] == '\0') add(text, "  none lost anything.\n");
    return text;
}

static json_t *worst_json(const hu_explaining *x, hu_death_kind kind) {
    hu_worst_sums worst = hu_sums_worst(&x->why, kind);
    if (!worst.product) return json_null();
    return json_pack("{s:s, s:s, s:o, s:I}", "product", worst.product, "accumulator",
                     worst.accumulator, "share", hu_json_number(worst.share), "step",
                     (json_int_t)worst.step);
}

json_t *hu_sums_run_json(const hu_explaining *x) {
    if (!hu_sums_are_counted(&x->why)) return json_null();
    return json_pack("{s:o, s:o, s:o}", "saturated", worst_json(x, HU_DEATH_SUMS_SATURATED),
                     "flushed", worst_json(x, HU_DEATH_SUMS_FLUSHED), "stalled",
                     worst_json(x, HU_DEATH_SUMS_STALLED));
}
