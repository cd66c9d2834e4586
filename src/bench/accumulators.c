/* Lists of accumulators and random factors for the verbs gemm and bench. */
#include "bench/accumulators.h"

#include <inttypes.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>

#include "base/elementary.h"
#include "base/error.h"
#include "base/rng.h"
#include "base/words.h"

enum { TEXT_MOST = 160 };

/* All modes, in the format of the 1/6/9 study. */
static const char usual[] =
    "fmacs,macs:1/6/9,fmac:1/6/9,mac:1/6/9,fmac8:1/6/9,kahan:1/6/9,kahan-cpd:1/6/9";

void hu_accumulator_mode_text(const hu_accumulator *accumulator, char *text, size_t capacity) {
    if (accumulator->mac == HU_MAC_FMAC_K)
        snprintf(text, capacity, "fmac%" PRId64, accumulator->block);
    else
        snprintf(text, capacity, "%s", hu_mac_name(accumulator->mac));
}

/* One accumulator of the list, in each of the semantics that are wanted. */
static hu_status add_word(const char *word, size_t length, const bool *wanted,
                          hu_accumulator_list *list) {
    char text[TEXT_MOST + 1];
    hu_accumulator accumulator;
    if (length > TEXT_MOST)
        return hu_fail(HU_ERR_PARSE, "accumulator '%.32s...' has %zu characters, at most %d", word,
                       length, TEXT_MOST);
    snprintf(text, sizeof text, "%.*s", (int)length, word);
    hu_status st = hu_accumulator_parse(text, &accumulator);
    for (int semantics = 0; st == HU_OK && semantics < HU_SEMANTICS_COUNT; semantics++) {
        if (!wanted[semantics]) continue;
        if (list->count == HU_ACCUMULATORS_MOST)
            return hu_fail(HU_ERR_LIMIT, "more than %d accumulators", HU_ACCUMULATORS_MOST);
        accumulator.semantics = (hu_semantics)semantics;
        list->items[list->count++] = accumulator;
    }
    return st;
}

hu_status hu_accumulator_list_read(const hu_config *config, hu_accumulator_list *list) {
    hu_status st = HU_OK;
    const char *text = usual, *semantics;
    /* cpd's sums are f32fma's but for infinities: only where it is asked for. */
    bool wanted[HU_SEMANTICS_COUNT] = {[HU_SEMANTICS_EXACT] = true, [HU_SEMANTICS_F32FMA] = true};
    list->count = 0;
    if (hu_config_given(config, "accumulator.name"))
        HU_TRY(hu_config_text(config, "accumulator.name", &text));
    HU_TRY(hu_config_text(config, "accumulator.semantics", &semantics));
    if (hu_config_given(config, "accumulator.semantics"))
        for (int i = 0; i < HU_SEMANTICS_COUNT; i++)
            wanted[i] = strcmp(semantics, hu_semantics_name((hu_semantics)i)) == 0;
    for (;;) {
        const char *end;
        size_t length = hu_word_at(&text, &end);
        HU_TRY(add_word(text, length, wanted, list));
        if (*end == '\0') break;
        text = end + 1;
    }
done:
    return st;
}

hu_status hu_threads_read(hu_config *config, int *threads) {
    hu_status st = HU_OK;
    int64_t value;
    char text[24];
    snprintf(text, sizeof text, "%d", omp_get_num_procs());
    HU_TRY(hu_config_set(config, "run.threads", text, "machine"));
    HU_TRY(hu_config_i64(config, "run.threads", &value));
    *threads = (int)value;
done:
    return st;
}

void hu_factor_fill(const char *kind, uint64_t seed, const char *name, int64_t n, float *x) {
    /* Random numbers by element: threads do not change them. */
    const hu_random_key key = {.seed = seed, .stream = hu_stream_id("gemm", name)};
    bool is_uniform = strcmp(kind, "uniform") == 0, is_lognormal = strcmp(kind, "lognormal") == 0;
#pragma omp parallel for
    for (int64_t i = 0; i < n; i++) {
        if (is_uniform)
            x[i] = 2.0f * hu_random_uniform(&key, (uint64_t)i) - 1.0f;
        else
            x[i] = hu_random_normal(&key, (uint64_t)i);
        if (is_lognormal) x[i] = (float)hu_exp((double)x[i]);
    }
}
