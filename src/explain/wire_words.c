#include "explain/wire_words.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Adds to a text; one that is full keeps what it has. */
__attribute__((format(printf, 2, 3))) static void add(char *text, const char *form, ...) {
    size_t used = strlen(text);
    va_list values;
    va_start(values, form);
    vsnprintf(text + used, HU_WIRE_WORDS_BYTES - used, form, values);
    va_end(values);
}

static double percent(uint64_t count, uint64_t elements) {
    return elements ? 100.0 * (double)count / (double)elements : 0.0;
}

/* What the sums of a gradient lost; nothing where they were not counted. */
static void tell_sums(const hu_opened_run *run, const hu_why *why, uint32_t place, int64_t step,
                      char *text) {
    hu_tensor tensor = run->walk.tensor[place];
    uint32_t sums = run->walk.place[HU_TENSOR_WIRE_SUM][tensor.value];
    if (tensor.kind != HU_TENSOR_WIRE || sums == HU_NONE) return;
    hu_condition condition = hu_why_condition(why, sums, step);
    if (!condition.record) return;
    const hu_round_counts *c = &condition.record->counts;
    add(text,
        "Its sums on the way lost %.3g %% of %llu numbers by overflow, %.3g %% by underflow; "
        "%.3g %% are NaN.\n",
        percent(c->overflow, c->elements), (unsigned long long)c->elements,
        percent(c->underflow, c->elements), percent(c->nan, c->elements));
}

static void tell_ways(const hu_wire_advice *advice, char *text) {
    const hu_lost *lost = &advice->now.lost;
    if (advice->way[0]) add(text, "The way: %s.\n", advice->way);
    if (advice->count == 0) return;
    if (advice->step < 0)
        add(text,
            "To try (no exponents of the gradient were recorded up to that step, so that what "
            "scales and\nformats would lose is not known: run.histogram_every=):\n");
    else
        add(text,
            "To try (by the exponents of the gradient at step %lld, of which this way loses "
            "%.3g %%):\n",
            (long long)advice->step, 100.0 * (lost->overflow.share + lost->underflow.share));
    for (int i = 0; i < advice->count; i++)
        add(text, "  %-38s %s\n", advice->option[i].keys, advice->option[i].effect);
}

const char *hu_wire_words(const hu_opened_run *run, const hu_why *why, uint32_t place,
                          const hu_death *death, char *text) {
    hu_wire_advice advice;
    text[0] = '\0';
    if (!hu_is_on_wire(run, place)) return text;
    tell_sums(run, why, place, death->step, text);
    if (death->kind == HU_DEATH_NONE) return text;
    hu_wire_advise(run, why, death, &advice);
    tell_ways(&advice, text);
    return text;
}
