/* halfulp bench kernel=step: the time of a training step beside the same step in float32,
 * alternating in one run. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "cli/bench.h"
#include "cli/json.h"
#include "cli/options.h"
#include "cli/session.h"
#include "report/table.h"

enum { WARM_UP_STEPS = 2, IMAGES = 1024 };

/* One of the two trainings that take turns. */
typedef struct contestant {
    hu_config *config;
    hu_precision precision;
    hu_trainer *trainer;
    const char *name, *accumulator;
    double best_seconds;
    int64_t samples;
} contestant;

/* Float32 everywhere, products in oneDNN's order. */
static hu_status make_plain(hu_config *config) {
    static const char *const keys[][2] = {{"precision.name", "fp32"},
                                          {"precision.rules", ""},
                                          {"accumulator.name", "fp32"},
                                          {"accumulator.rules", ""}};
    hu_status st = HU_OK;
    hu_keys *tree = NULL;
    HU_TRY(hu_keys_create(HU_KEYS_MAP, NULL, "bench", &tree));
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        HU_TRY(hu_keys_set_text(tree, keys[i][0], keys[i][1], "bench"));
    HU_TRY(hu_config_merge(config, tree));
done:
    hu_keys_free(tree);
    return st;
}

static hu_status enter(const hu_config *config, hu_dataset *dataset, bool plain, contestant *c) {
    hu_status st = HU_OK;
    hu_train_options options;
    HU_TRY(hu_options_copy(config, &c->config));
    if (plain) HU_TRY(make_plain(c->config));
    HU_TRY(hu_options_train(c->config, dataset, &c->precision, &options));
    HU_TRY(hu_trainer_create(&options, dataset, &c->trainer));
    HU_TRY(hu_config_text(c->config, "precision.name", &c->name));
    HU_TRY(hu_config_text(c->config, "accumulator.name", &c->accumulator));
    c->best_seconds = 1e30;
done:
    return st;
}

static void leave(contestant *c) {
    hu_trainer_free(c->trainer);
    hu_precision_free(&c->precision);
    hu_config_free(c->config);
}

static hu_status take_turn(contestant *c, bool counts) {
    hu_step_report report;
    double start = hu_seconds_now();
    hu_status st = hu_trainer_step(c->trainer, &report);
    double seconds = hu_seconds_now() - start;
    c->samples = report.samples;
    if (counts && seconds < c->best_seconds) c->best_seconds = seconds;
    return st;
}

static json_t *row_json(const contestant *c, const contestant *reference, int64_t threads) {
    hu_ledger ledger = hu_trainer_ledger(c->trainer);
    return json_pack("{s:s, s:s, s:I, s:o, s:o, s:s, s:o, s:o, s:I, s:o}", "precision", c->name,
                     "accumulator", c->accumulator, "threads", (json_int_t)threads,
                     "seconds_per_step", hu_json_number(c->best_seconds), "images_per_second",
                     hu_json_number((double)c->samples / c->best_seconds), "reference", "fp32",
                     "reference_seconds_per_step", hu_json_number(reference->best_seconds), "ratio",
                     hu_json_number(c->best_seconds / reference->best_seconds), "peak_rss_bytes",
                     (json_int_t)hu_peak_rss_bytes(), "ledger_bytes", hu_ledger_json(&ledger));
}

static hu_status print_rows(const contestant *both, int64_t threads) {
    static const char *const titles[] = {"precision", "accumulator", "seconds/step",
                                         "images/s",  "to fp32",     "saved MiB"};
    hu_status st = HU_OK;
    hu_table *table = NULL;
    char *text = NULL;
    HU_TRY(hu_table_create(titles, 6, &table));
    for (int i = 0; i < 2; i++) {
        hu_ledger ledger = hu_trainer_ledger(both[i].trainer);
        HU_TRY(hu_table_cell(table, "%s", both[i].name));
        HU_TRY(hu_table_cell(table, "%s", both[i].accumulator));
        HU_TRY(hu_table_cell(table, "%.4f", both[i].best_seconds));
        HU_TRY(hu_table_cell(table, "%.0f", (double)both[i].samples / both[i].best_seconds));
        HU_TRY(hu_table_cell(table, "%.3f", both[i].best_seconds / both[0].best_seconds));
        HU_TRY(hu_table_cell(table, "%.1f", (double)ledger.saved / 1048576.0));
    }
    HU_TRY(hu_table_print(table, &text));
    printf("%sbest of alternating steps, %lld threads\n", text, (long long)threads);
done:
    hu_free(text);
    hu_table_free(table);
    return st;
}

hu_status hu_bench_step(hu_config *config) {
    hu_status st = HU_OK;
    hu_dataset *dataset = NULL;
    contestant both[2] = {{0}};
    const hu_data_limits limits = {IMAGES, 16};
    int64_t repeat, threads;
    HU_TRY(hu_config_i64(config, "run.repeat", &repeat));
    if (hu_config_given(config, "data.name"))
        HU_TRY(hu_options_dataset(config, &dataset));
    else
        HU_TRY(hu_dataset_open("glyphs", &limits, &dataset));
    HU_TRY(enter(config, dataset, true, &both[0]));
    HU_TRY(enter(config, dataset, false, &both[1]));
    for (int64_t i = 0; i < repeat + WARM_UP_STEPS; i++)
        for (int k = 0; k < 2; k++) HU_TRY(take_turn(&both[k], i >= WARM_UP_STEPS));
    HU_TRY(hu_config_i64(both[1].config, "run.threads", &threads));
    if (hu_config_flag(config, "json", NULL))
        st = hu_json_print(json_pack("{s:s, s:[o, o]}", "kernel", "step", "rows",
                                     row_json(&both[0], &both[0], threads),
                                     row_json(&both[1], &both[0], threads)));
    else
        st = print_rows(both, threads);
done:
    for (int k = 0; k < 2; k++) leave(&both[k]);
    hu_dataset_close(dataset);
    return st;
}
