#include "settings/loss_scale_from_run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "runlog/graph_json.h"
#include "runlog/history.h"
#include "runlog/result.h"
#include "tensor/exponent_histogram.h"

static const char prefix[] = "auto:";

/* The folder; NULL: scaler.init is a number, or open. */
static const char *run_of(const hu_config *config) {
    const char *text;
    if (hu_config_text(config, "scaler.init", &text) != HU_OK) return NULL;
    return strncmp(text, prefix, sizeof prefix - 1) == 0 ? text + sizeof prefix - 1 : NULL;
}

bool hu_loss_scale_is_from_run(const hu_config *config) {
    return run_of(config) != NULL;
}

static void lower(double *most, const hu_quantizer *quantizer) {
    if (quantizer->kind != HU_QUANTIZER_FLOAT || quantizer->scale != HU_SCALE_NONE) return;
    *most = fmin(*most, hu_format_limits_of(&quantizer->format).max_finite);
}

/* The least end among the formats that gradients of a role have in any phase, low candidates and
 * rules for gradients included; infinity: none has one. */
static double end_of(const hu_precision *precision, hu_role role) {
    double most = INFINITY;
    for (uint32_t p = 0; p < precision->phase_count; p++)
        most = fmin(most, end_of(&precision->phases[p].precision, role));
    if (precision->phase_count) return most;
    lower(&most, &precision->role[role]);
    if (precision->assignment.kind) lower(&most, &precision->low[role]);
    for (uint32_t r = 0; r < precision->rule_count; r++) {
        const char *pattern = precision->rules[r].words.pattern;
        size_t length = strlen(pattern);
        bool is_gradient = length >= 5 && strcmp(pattern + length - 5, ".grad") == 0;
        if (is_gradient) lower(&most, &precision->rules[r].quantizer);
    }
    return most;
}

/* What the run recorded; HU_ERR_MISSING where that is nothing. */
static hu_status read_largest(const char *folder, hu_largest largest[HU_LARGEST_KINDS]) {
    hu_status st = HU_OK;
    hu_history *history = NULL;
    hu_graph *graph = NULL;
    hu_tensor_order walk = {0};
    st = hu_history_read(folder, &history);
    if (st != HU_OK) HU_TRY(hu_fail_within(st, "scaler.init=%s%s: ", prefix, folder));
    HU_TRY(hu_graph_read(folder, &graph));
    HU_TRY(hu_tensor_order_create(graph, false, &walk));
    hu_history_largest(history, &walk, largest);
    if (history->histogram_count == 0 || !(hu_largest_of_all(largest).magnitude > 0.0))
        st = hu_fail(HU_ERR_MISSING,
                     "scaler.init=%s%s: found no histogram with gradients, expected a run that was "
                     "trained with run.histogram_every above 0",
                     prefix, folder);
done:
    hu_tensor_order_free(&walk);
    hu_graph_free(graph);
    hu_history_free(history);
    return st;
}

hu_status hu_loss_scale_from_run(hu_config *config, const hu_precision *precision) {
    static const hu_role roles[HU_LARGEST_KINDS] = {HU_ROLE_ACT_GRAD, HU_ROLE_WEIGHT_GRAD};
    const char *folder = run_of(config);
    hu_largest largest[HU_LARGEST_KINDS];
    char text[32];
    bool any = false;
    int32_t scale = 0;
    if (!folder) return HU_OK;
    hu_status st = read_largest(folder, largest);
    if (st != HU_OK) return st;
    for (int k = 0; k < HU_LARGEST_KINDS; k++) {
        double end = end_of(precision, roles[k]);
        if (isinf(end) || !(largest[k].magnitude > 0.0)) continue;
        int32_t most = hu_scale_below(largest[k].magnitude, end);
        scale = any && scale < most ? scale : most;
        any = true;
    }
    snprintf(text, sizeof text, "%.17g", ldexp(1.0, scale));
    return hu_config_replace(config, "scaler.init", text, "the gradients of a run");
}

const char *hu_loss_scaling_words(const hu_config *config, const hu_trainer *trainer, char *text) {
    const char *name = "none";
    char number[HU_DECIMAL_BYTES];
    bool has_begun = hu_trainer_progress(trainer)->step > 0;
    double scale = (double)hu_trainer_scaler(trainer)->scale;
    (void)hu_config_text(config, "scaler.name", &name);
    if (strcmp(name, "none") == 0)
        snprintf(text, HU_SCALING_BYTES, "none");
    else
        snprintf(text, HU_SCALING_BYTES, "%.16s, %s%s", name,
                 strcmp(name, "dynamic") == 0 && !has_begun ? "from " : "",
                 hu_scale_text(scale, number));
    return text;
}
