#include "session/check_run.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "train/trainer.h"

hu_status hu_check_run_open(const hu_config *config, hu_check_run *run) {
    hu_status st = HU_OK;
    const char *init;
    *run = (hu_check_run){.norm = (double)NAN};
    HU_TRY(hu_config_text(config, "model.init", &init));
    HU_TRY(hu_config_bool(config, "run.norms", &run->wants_norms));
    run->is_on = hu_check_salt(init) != NULL;
    if (run->wants_norms && !run->is_on)
        return hu_fail(HU_ERR_ARGUMENT,
                       "found run.norms=on without init=check, whose runs alone tell norms");
done:
    return st;
}

void hu_check_run_close(hu_check_run *run) {
    hu_free(run->loss);
    json_decref(run->norms);
    *run = (hu_check_run){0};
}

/* Room for twice as many losses. */
static hu_status grow(hu_check_run *run) {
    enum { FIRST = 64 };
    int64_t room = run->room ? 2 * run->room : FIRST;
    double *larger;
    hu_status st = HU_NEW_ARRAY(&larger, (size_t)room);
    if (st != HU_OK) return st;
    if (run->count) memcpy(larger, run->loss, (size_t)run->count * sizeof *larger);
    hu_free(run->loss);
    run->loss = larger;
    run->room = room;
    return HU_OK;
}

static hu_status note_gradient(hu_check_run *run, const hu_trainer *trainer,
                               const hu_step_report *report) {
    const hu_graph *graph = hu_trainer_graph(trainer);
    run->norm = report->gradient_norm;
    if (!run->wants_norms) return HU_OK;
    run->norms = json_object();
    for (hu_value_id v = 0; v < graph->value_count; v++)
        if (graph->value[v].role == HU_VALUE_PARAMETER)
            json_object_set_new(run->norms, graph->value[v].name,
                                hu_json_number(hu_trainer_gradient_norm(trainer, v)));
    return run->norms ? HU_OK : hu_fail(HU_ERR_MEMORY, "cannot allocate the norms of gradients");
}

hu_status hu_check_run_note(hu_check_run *run, const hu_trainer *trainer,
                            const hu_step_report *report) {
    hu_status st = HU_OK;
    if (!run->is_on) return HU_OK;
    run->phases = report->phases;
    for (int t = 0; t < report->phases; t++) {
        if (run->count == run->room) HU_TRY(grow(run));
        run->loss[run->count++] = report->phase[t].loss;
        run->name[t] = report->phase[t].name;
    }
    if (report->step == 0) HU_TRY(note_gradient(run, trainer, report));
done:
    return st;
}

/* Of one turn of every step. */
static json_t *losses_of(const hu_check_run *run, int phase) {
    json_t *losses = json_array();
    for (int64_t i = phase; i < run->count; i += run->phases)
        json_array_append_new(losses, hu_json_number(run->loss[i]));
    return losses;
}

void hu_check_run_put(const hu_check_run *run, json_t *object) {
    if (!run->is_on || !object) return;
    json_t *losses = run->phases > 1 ? json_object() : losses_of(run, 0);
    for (int t = 0; run->phases > 1 && t < run->phases; t++)
        json_object_set_new(losses, run->name[t], losses_of(run, t));
    json_object_set_new(object, "losses", losses);
    json_object_set_new(object, "first_gradient_norm", hu_json_number(run->norm));
    if (run->norms) json_object_set(object, "first_gradient_norms", run->norms);
}
