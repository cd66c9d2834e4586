/* bench/steps.c - `bench all`: steps of a few networks, which between them have what trainings are
 * made of: convolutions, recurrent layers, attention, and products with a chosen accumulator. */
#include <stdio.h>

#include "base/error.h"
#include "base/process.h"
#include "bench/bench.h"
#include "session/options.h"

/* Batches are those of the recipes where none is given. */
static const struct {
    const char *model, *precision, *accumulator, *batch;
    double weight; /* when the time is shared out */
} cases[] = {
    {"resnet20", "hfp8", "fp32", "128", 3},
    {"resnet20", "1/6/9", "fmac8:1/6/9", "32", 2},
    {"lstm-lm-s", "hfp8", "fp32", NULL, 1},
    {"transformer-lm-s", "hfp8", "fp32", NULL, 1},
};

enum { CASES = sizeof cases / sizeof *cases };

/* The user's keys, and those of the case that the user did not give, as if they had been. */
static hu_status make_config(const hu_config *config, int number, hu_config **made) {
    const char *const keys[][2] = {{"model.name", cases[number].model},
                                   {"precision.name", cases[number].precision},
                                   {"accumulator.name", cases[number].accumulator},
                                   {"run.batch", cases[number].batch}};
    hu_status st = HU_OK;
    hu_keys *tree = NULL;
    HU_TRY(hu_options_copy(config, made));
    HU_TRY(hu_keys_create(HU_KEYS_MAP, NULL, "bench all", &tree));
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i][1] && !hu_config_given(config, keys[i][0]))
            HU_TRY(hu_keys_set_text(tree, keys[i][0], keys[i][1], "bench all"));
    HU_TRY(hu_config_merge(*made, tree));
done:
    hu_keys_free(tree);
    return st;
}

/* Puts what one of them found behind what there is. */
static hu_status take_part(hu_bench *bench, hu_bench *one) {
    hu_bench_noise_add(&bench->part.noise, &one->part.noise);
    if (bench->part.form == HU_BENCH_JSON) {
        json_array_append(json_object_get(bench->part.json, "models"), one->part.json);
        return HU_OK;
    }
    if (bench->part.form == HU_BENCH_TEXT && bench->part.text.size > 0)
        if (hu_bench_tell(&bench->part, "%s", "") != HU_OK) return HU_ERR_MEMORY;
    return hu_bench_tell_part(&bench->part, &one->part);
}

static hu_status run_case(hu_bench *bench, int number, double until) {
    hu_status st = HU_OK;
    hu_bench one = {.machine = bench->machine,
                    .repeat = bench->repeat,
                    .until = until,
                    .begun = hu_seconds_since_start(),
                    .part = {.form = bench->part.form}};
    HU_TRY(make_config(bench->config, number, &one.config));
    HU_TRY(hu_bench_step(&one));
    HU_TRY(take_part(bench, &one));
done:
    hu_bench_part_free(&one.part);
    hu_config_free(one.config);
    return st;
}

hu_status hu_bench_steps(hu_bench *bench) {
    hu_status st = HU_OK;
    double weight = 0;
    bench->begun = hu_seconds_since_start();
    if (hu_config_given(bench->config, "model.name")) return hu_bench_step(bench);
    if (bench->part.form == HU_BENCH_JSON)
        bench->part.json = json_pack("{s:s, s:[]}", "kernel", "step", "models");
    for (int i = 0; i < CASES; i++) weight += cases[i].weight;
    for (int i = 0; i < CASES; weight -= cases[i++].weight) {
        double now = hu_seconds_now(), left = bench->until - now;
        HU_TRY(run_case(bench, i, now + left * cases[i].weight / weight));
    }
done:
    return st;
}
