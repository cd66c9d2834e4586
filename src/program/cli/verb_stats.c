/* halfulp stats: the range that a run's numbers needed. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "cli/verb.h"
#include "config/unused_keys.h"
#include "diagnose/range_study.h"
#include "diagnose/run_record.h"
#include "render/json.h"
#include "render/table.h"
#include "report/tensor_curve.h"

/* Two ways to split 16 bits: for precision, or for range. */
static const char usual_formats[] = "fp16,1/6/9";
static const char *const part_names[] = {"input", "weight", "gradient"};

/* A run that was read, and what its numbers needed. */
typedef struct statistics {
    hu_run_record run;
    hu_range_table tables[HU_CANDIDATES_MOST + 1]; /* of the run itself, then of the candidates */
    hu_pooled pooled[HU_POOLS];
    hu_format fp16;
    hu_largest gradient; /* of the unscaled loss */
} statistics;

/* Name of a way of counting: the run's own, or a candidate format. */
static const char *table_name(const statistics *s, int index) {
    return index ? s->run.candidates.name[index - 1] : "as counted";
}

/* Tables of the counts, then of every candidate, from the histograms. */
static hu_status open_run(const hu_config *config, statistics *s) {
    hu_status st = HU_OK;
    const char *formats;
    hu_largest largest[HU_LARGEST_KINDS];
    HU_TRY(hu_config_text(config, "bench.format", &formats));
    HU_TRY(hu_run_record_read(hu_config_subject(config, 0), formats[0] ? formats : usual_formats,
                              &s->run));
    HU_TRY(hu_format_parse("fp16", &s->fp16));
    for (int t = 0; t <= s->run.candidates.count; t++)
        HU_TRY(hu_range_create(s->run.history, s->run.graph,
                               t ? &s->run.candidates.format[t - 1] : NULL, &s->tables[t]));
    hu_range_pool(s->run.history, &s->run.walk, s->pooled);
    hu_history_largest(s->run.history, &s->run.walk, largest);
    s->gradient = hu_largest_of_all(largest);
done:
    return st;
}

/* Tables that were never made are empty, so this serves a failed opening too. */
static void close_run(statistics *s) {
    for (int t = 0; t <= s->run.candidates.count; t++) hu_range_free(&s->tables[t]);
    hu_run_record_close(&s->run);
}

/* ---- JSON ---- */

/* Shares of one tensor in its worst step; null where it was not counted. */
static json_t *share_json(const hu_range_share *share, const char *tensor) {
    if (!share->is_present) return json_null();
    return json_pack("{s:s, s:o, s:o, s:o, s:o, s:I}", "tensor", tensor, "subnormal",
                     hu_json_number(share->subnormal), "underflow",
                     hu_json_number(share->underflow), "overflow", hu_json_number(share->overflow),
                     "zero", hu_json_number(share->zero), "step", (json_int_t)share->step);
}

/* null: the layer has no chosen accumulator, or no step counted it. */
static json_t *layer_json(const hu_range_layer *layer) {
    json_t *object = json_pack("{s:s}", "layer", layer->name);
    for (int part = 0; part < HU_RANGE_PARTS; part++)
        json_object_set_new(object, part_names[part],
                            share_json(&layer->share[part], layer->tensor[part]));
    json_object_set_new(object, "accumulators",
                        isnan(layer->accumulators) ? json_null()
                                                   : hu_json_number(layer->accumulators));
    return object;
}

/* The largest share of a part over all layers, and where it is. */
static json_t *most_json(const hu_range_table *table, hu_range_part part) {
    uint32_t layer;
    hu_range_part where;
    hu_range_share most = hu_range_most(table, part, &layer, &where);
    return share_json(&most, most.is_present ? table->layer[layer].tensor[where] : "");
}

/* One way of counting: every layer, and the largest of all. */
static json_t *table_json(const statistics *s, int index) {
    const hu_range_table *table = &s->tables[index];
    json_t *layers = json_array(), *most = json_object();
    double accumulators = NAN;
    for (uint32_t l = 0; l < table->count; l++) {
        json_array_append_new(layers, layer_json(&table->layer[l]));
        /* Layers without a chosen accumulator have NaN, which fmax leaves out. */
        accumulators = fmax(accumulators, table->layer[l].accumulators);
    }
    for (int part = 0; part < HU_RANGE_PARTS; part++)
        json_object_set_new(most, part_names[part], most_json(table, (hu_range_part)part));
    json_object_set_new(most, "all", most_json(table, HU_RANGE_PARTS));
    json_object_set_new(most, "accumulators",
                        isnan(accumulators) ? json_null() : hu_json_number(accumulators));
    return json_pack("{s:s, s:s, s:o, s:o}", "format", table_name(s, index), "source",
                     index ? "histograms" : "counts", "most", most, "layers", layers);
}

/* Shares by exponent; bins without numbers are left out. */
static json_t *pool_json(const hu_pooled *pooled) {
    json_t *bins = json_object();
    for (int b = 0; b < 277; b++) {
        char name[8];
        if (pooled->bin[b] == 0.0) continue;
        /* Bin b holds exponent b - 149: from binary32's smallest subnormal, 2^-149, to 2^127. */
        snprintf(name, sizeof name, "%d", b - 149);
        json_object_set_new(bins, name, hu_json_number(pooled->bin[b] / pooled->elements));
    }
    double elements = pooled->elements > 0.0 ? pooled->elements : 1.0;
    return json_pack("{s:o, s:o, s:o, s:o}", "elements", hu_json_number(pooled->elements), "zero",
                     hu_json_number(pooled->zero / elements), "nonfinite",
                     hu_json_number(pooled->nonfinite / elements), "exponents", bins);
}

/* log2 of the largest loss scale under which no gradient reaches fp16's largest number. */
static int32_t largest_scale(const statistics *s) {
    return hu_scale_below(s->gradient.magnitude, hu_format_limits_of(&s->fp16).max_finite);
}

/* That scale and the gradient; null without gradients. */
static json_t *scale_json(const statistics *s) {
    const hu_largest *top = &s->gradient;
    if (!(top->magnitude > 0.0)) return json_null();
    int32_t k = largest_scale(s);
    return json_pack("{s:s, s:i, s:o, s:i, s:o, s:b, s:I}", "format", "fp16", "exponent", (int)k,
                     "scale", hu_json_number(ldexp(1.0, k)), "largest_gradient_exponent",
                     ilogb(top->magnitude), "largest_gradient", hu_json_number(top->magnitude),
                     "is_bound", top->is_bound, "step", (json_int_t)top->step);
}

static json_t *to_json(const statistics *s) {
    json_t *formats = json_array(), *pools = json_object();
    for (int t = 0; t <= s->run.candidates.count; t++)
        json_array_append_new(formats, table_json(s, t));
    for (int p = 0; p < HU_POOLS; p++)
        json_object_set_new(pools, hu_pool_name((hu_pool)p), pool_json(&s->pooled[p]));
    json_t *object = json_pack("{s:s, s:I, s:I, s:o, s:o, s:o}", "run", s->run.folder, "rows",
                               (json_int_t)s->run.history->numerics_lines, "histograms",
                               (json_int_t)s->run.history->histogram_lines, "formats", formats,
                               "exponents", pools, "loss_scale", scale_json(s));
    if (object && s->run.history->warning[0])
        json_object_set_new(object, "warning", json_string(s->run.history->warning));
    return object;
}

/* ---- text ---- */

/* Subnormal share, "-" where the tensor was not rounded or not counted. */
static hu_status share_cell(hu_table *table, const hu_range_share *share) {
    return share->is_present ? hu_table_cell(table, "%.4f", share->subnormal)
                             : hu_table_cell(table, "-");
}

/* Largest subnormal share of each layer: three columns for each way of counting. */
static hu_status print_layers(const statistics *s) {
    enum { MOST = 32 };
    hu_status st = HU_OK;
    char titles[MOST][HU_CANDIDATE_BYTES + 16];
    const char *title[MOST];
    hu_table *table = NULL;
    /* 1 + 3 x (1 + 9) = 31 columns at most. */
    int shown = s->run.candidates.count < 9 ? s->run.candidates.count : 9, columns = 0;
    snprintf(titles[columns++], sizeof titles[0], "layer");
    for (int t = 0; t <= shown; t++)
        for (int part = 0; part < HU_RANGE_PARTS; part++)
            snprintf(titles[columns++], sizeof titles[0], part ? "%s" : "%s (%s)", part_names[part],
                     table_name(s, t));
    for (int c = 0; c < columns; c++) title[c] = titles[c];
    HU_TRY(hu_table_create(title, columns, &table));
    for (uint32_t l = 0; l <= s->tables[0].count; l++) {
        bool is_last = l == s->tables[0].count;
        HU_TRY(hu_table_cell(table, "%s", is_last ? "most" : s->tables[0].layer[l].name));
        for (int t = 0; t <= shown; t++)
            for (int part = 0; part < HU_RANGE_PARTS; part++) {
                uint32_t layer;
                hu_range_part where;
                hu_range_share most =
                    hu_range_most(&s->tables[t], (hu_range_part)part, &layer, &where);
                HU_TRY(share_cell(table, is_last ? &most : &s->tables[t].layer[l].share[part]));
            }
    }
    HU_TRY(hu_show_table(table));
done:
    hu_table_free(table);
    return st;
}

/* The largest share of all layers in each format, and what else was lost there. */
static hu_status print_most(const statistics *s) {
    static const char *const titles[] = {"format",    "subnormal", "tensor", "step",
                                         "underflow", "overflow",  "zero"};
    hu_status st = HU_OK;
    hu_table *table = NULL;
    HU_TRY(hu_table_create(titles, sizeof titles / sizeof *titles, &table));
    for (int t = 0; t <= s->run.candidates.count; t++) {
        uint32_t layer;
        hu_range_part where;
        hu_range_share most = hu_range_most(&s->tables[t], HU_RANGE_PARTS, &layer, &where);
        HU_TRY(hu_table_cell(table, "%s", table_name(s, t)));
        HU_TRY(share_cell(table, &most));
        HU_TRY(hu_table_cell(table, "%s",
                             most.subnormal > 0.0 ? s->tables[t].layer[layer].tensor[where] : "-"));
        HU_TRY(hu_table_cell(table, "%lld", (long long)most.step));
        HU_TRY(hu_table_cell(table, "%.4f", most.underflow));
        HU_TRY(hu_table_cell(table, "%.4f", most.overflow));
        HU_TRY(hu_table_cell(table, "%.4f", most.zero));
    }
    HU_TRY(hu_show_table(table));
done:
    hu_table_free(table);
    return st;
}

/* Numbers with exponents from .. to, within float32's. */
static double sum_of(const hu_pooled *pooled, int from, int to) {
    double sum = 0.0;
    for (int e = from < -149 ? -149 : from; e <= to && e <= 127; e++) sum += pooled->bin[e + 149];
    return sum;
}

/* Ranges of exponents with the places where fp16 ends. */
static hu_status print_exponents(const statistics *s) {
    static const struct {
        const char *name;
        int from, to;
    } ranges[] = {{"2^16 and more", 16, 127},
                  {"2^8 .. 2^15", 8, 15},
                  {"2^0 .. 2^7", 0, 7},
                  {"2^-8 .. 2^-1", -8, -1},
                  {"2^-14 .. 2^-9", -14, -9},
                  {"2^-24 .. 2^-15 (fp16: subnormal)", -24, -15},
                  {"2^-39 .. 2^-25 (fp16: vanish)", -39, -25},
                  {"below 2^-39", -149, -40}};
    static const char *const titles[] = {"% of all", "activations", "weights",
                                         "activation gradients", "weight gradients"};
    hu_status st = HU_OK;
    hu_table *table = NULL;
    HU_TRY(hu_table_create(titles, sizeof titles / sizeof *titles, &table));
    for (size_t r = 0; r < sizeof ranges / sizeof *ranges + 2; r++) {
        bool is_zero = r == sizeof ranges / sizeof *ranges;
        bool is_range = r < sizeof ranges / sizeof *ranges;
        HU_TRY(hu_table_cell(table, "%s",
                             is_range  ? ranges[r].name
                             : is_zero ? "zero"
                                       : "infinite, NaN"));
        for (int p = 0; p < HU_POOLS; p++) {
            const hu_pooled *pooled = &s->pooled[p];
            double count = is_range  ? sum_of(pooled, ranges[r].from, ranges[r].to)
                           : is_zero ? pooled->zero
                                     : pooled->nonfinite;
            if (pooled->elements > 0.0)
                HU_TRY(hu_table_cell(table, "%.3f", 100.0 * count / pooled->elements));
            else
                HU_TRY(hu_table_cell(table, "-"));
        }
    }
    HU_TRY(hu_show_table(table));
done:
    hu_table_free(table);
    return st;
}

/* The layer with most subnormal accumulators, if any were counted. */
static void print_accumulators(const statistics *s) {
    double most = NAN;
    const char *where = "";
    for (uint32_t l = 0; l < s->tables[0].count; l++) {
        if (!(s->tables[0].layer[l].accumulators > most) && !isnan(most)) continue;
        if (isnan(s->tables[0].layer[l].accumulators)) continue;
        most = s->tables[0].layer[l].accumulators;
        where = s->tables[0].layer[l].name;
    }
    if (!isnan(most)) printf("\nSubnormal accumulators: at most %.4f (%s).\n", most, where);
}

/* "12", or "45 of 300": of many some stay in memory. */
static const char *histograms_words(const hu_history *history, char text[64]) {
    if (history->histogram_count < history->histogram_lines)
        snprintf(text, 64, "%zu of %zu", history->histogram_count, history->histogram_lines);
    else
        snprintf(text, 64, "%zu", history->histogram_count);
    return text;
}

/* From the layers to the whole run. */
static hu_status print_text(const statistics *s) {
    hu_status st = HU_OK;
    char number[64];
    puts("Largest share of subnormal numbers in one step, of each layer's input, weight and "
         "gradient of its output:\n");
    HU_TRY(print_layers(s));
    puts("\nThe largest of all layers, and the largest shares that became zero, overflowed, and "
         "were zero:\n");
    HU_TRY(print_most(s));
    printf("\nas counted: every step, in the run's own formats ('-': not rounded); the step is the "
           "last of its row in\nnumerics.jsonl. Formats: from %s histograms of the numbers before "
           "rounding; a bin that a format's\nend cuts is taken to be spread evenly, and infinities "
           "and NaN are told below: no format is their cause.\n",
           histograms_words(s->run.history, number));
    print_accumulators(s);
    puts("\nExponents of all tensors and all histograms together (gradients as scaled):\n");
    HU_TRY(print_exponents(s));
    if (s->gradient.magnitude > 0.0)
        printf(
            "\nLargest gradient of the unscaled loss: %s%.6g (step %lld). Largest loss scale that "
            "keeps it below 65504: 2^%d = %g.\n",
            s->gradient.is_bound ? "below " : "", s->gradient.magnitude,
            (long long)s->gradient.step, (int)largest_scale(s), ldexp(1.0, largest_scale(s)));
    if (s->run.history->warning[0]) printf("\n(%s)\n", s->run.history->warning);
done:
    return st;
}

/* What became of some tensors over the steps: to a file, or as CSV or JSON to stdout. */
static hu_status tell_curve(const hu_config *config) {
    hu_status st;
    hu_tensor_curve curve = {0};
    const char *pattern, *path;
    char *text = NULL;
    HU_TRY(hu_config_text(config, "stats.curve", &pattern));
    HU_TRY(hu_config_text(config, "out.file", &path));
    HU_TRY(hu_tensor_curve_read(hu_config_subject(config, 0), pattern, &curve));
    if (strcmp(path, "auto") != 0) {
        HU_TRY(hu_tensor_curve_write(&curve, path));
        fprintf(stderr, "%u tensor%s: %s\n", curve.count, curve.count == 1 ? "" : "s", path);
    } else if (hu_config_flag(config, "json", NULL)) {
        HU_TRY(hu_json_print(hu_tensor_curve_json(&curve)));
    } else {
        HU_TRY(hu_tensor_curve_csv(&curve, &text));
        fputs(text, stdout);
    }
done:
    hu_free(text);
    hu_tensor_curve_free(&curve);
    return st;
}

static hu_status run_stats(hu_config *config, int *exit_code) {
    static const char *const keys[] = {"bench.format", NULL};
    static const char *const of_curves[] = {"stats.curve", "out.file", NULL};
    hu_status st = HU_OK;
    void *block = NULL;
    (void)exit_code;
    if (hu_config_given(config, "stats.curve")) {
        HU_TRY(hu_keys_used(config, "stats curve=", of_curves));
        return tell_curve(config);
    }
    HU_TRY(hu_keys_used(config, "stats", keys));
    /* The tables are too large for the stack. */
    HU_TRY(hu_alloc(sizeof(statistics), &block));
    statistics *s = block;
    HU_TRY(open_run(config, s));
    st = hu_config_flag(config, "json", NULL) ? hu_json_print(to_json(s)) : print_text(s);
done:
    if (block) close_run(block);
    hu_free(block);
    return st;
}

static const char *const flags[] = {"json", NULL};

static const char *const stats_keys[] = {"bench.format", "stats.curve", "out.file", NULL};

const hu_verb hu_verb_stats = {
    .name = "stats",
    .group = HU_VERBS_UNDERSTAND,
    .help = "which range the numbers of a run needed: subnormal, vanished, lost in other formats",
    .usage = "RUN [format=F,...] [curve=TENSOR [out=FILE]] [--json]",
    .details =
        "The tables of the range study (Popescu et al.): the largest share of subnormal numbers\n"
        "of every layer's input, weight and gradient, as the run counted them in its own formats,\n"
        "and as its histograms say of the formats of format= (fp16,1/6/9). Then exponents of all\n"
        "tensors by kind, and the largest loss scale that would not overflow fp16. curve=TENSOR "
        "(or a\n"
        "glob) tells what rounding did to it from row to row: shares that were subnormal, became "
        "zero\n"
        "or overflowed, as CSV, or into FILE.csv, .json, .svg, .pdf or .png.\n",
    .flags = flags,
    .min_subjects = 1,
    .max_subjects = 1,
    .keys = stats_keys,
    .refuses_others = true,
    .examples = {{"stats RUN", "exponents and subnormal numbers of a run"},
                 {"stats RUN format=fp16,e5m2", "and what two formats would make of them"},
                 {"stats RUN curve=conv1.out out=FILE.svg",
                  "subnormal numbers of a tensor by step"}},
    .run = run_stats,
};
