#include "bench/plan_costs.h"

#include "base/error.h"
#include "render/table.h"
#include "report/plan.h"
#include "session/comm_study.h"
#include "train/trainer.h"

/* ---- network ---- */

/* `plan nodes=N`: what the network between nodes takes, beside the processor. */

/* Whether the user left open what the network sees. */
static bool is_assumed(const hu_config *config) {
    return !hu_config_given(config, "data.name") && !hu_config_given(config, "data.crop") &&
           !hu_config_given(config, "data.classes");
}

hu_status hu_network_advise(hu_config *config, const hu_train_options *options,
                            const hu_dataset *dataset, bool as_json) {
    hu_status st = HU_OK;
    hu_graph *graph = NULL;
    hu_task_choice choice;
    hu_advice_request request = {0};
    hu_comm_advice advice = {0};
    HU_TRY(hu_train_network(options, dataset, &choice, &graph));
    HU_TRY(hu_advice_read(config, graph, &request));
    HU_TRY(hu_comm_advise(&request.question, &advice));
    const hu_advice_head head = {.model = options->model,
                                 .image = dataset->field[HU_FIELD_IMAGE].extent,
                                 .classes = hu_task_classes(options->task, dataset),
                                 .is_assumed = is_assumed(config),
                                 .parameters = request.parameters,
                                 .question = &request.question};
    st = as_json ? hu_json_print(hu_advice_json(&head, &advice)) : hu_advice_print(&head, &advice);
done:
    hu_comm_advice_free(&advice);
    hu_advice_request_free(&request);
    hu_graph_free(graph);
    return st;
}

/* ---- `plan precision=cpt:4-8`: what the bits of a schedule cost ---- */

/* The training as schedules see it. */
static hu_status make_task(const hu_train_options *options, const hu_dataset *dataset,
                           const hu_bits_layers *layers, hu_bits_task *task) {
    *task = (hu_bits_task){.bits = &options->precision.bits,
                           .layers = layers,
                           .batch = options->batch,
                           .steps = options->steps,
                           .seed = options->run.seed};
    return hu_trainer_epoch_steps(options, dataset->train.count, &task->steps_per_epoch);
}

static hu_status print_json(const hu_bits_page *page, json_t *memory) {
    json_t *object = hu_bits_json(page);
    json_object_set(object, "memory_bytes", memory);
    return hu_json_print(object);
}

static hu_status tell(const hu_train_options *options, const hu_dataset *dataset,
                      const hu_graph *graph, const hu_bits_task *task, const char *precision,
                      json_t *memory) {
    hu_status st = HU_OK;
    hu_bits_course course = {0};
    hu_forecast forecast = {0};
    HU_TRY(hu_bits_begin(task, &course));
    HU_TRY(hu_forecast_create(task, &course, &forecast));
    const hu_bits_page page = {.model = options->model,
                               .precision = precision,
                               .width = options->width,
                               .image = dataset->field[HU_FIELD_IMAGE].extent,
                               .classes = hu_task_classes(options->task, dataset),
                               .graph = graph,
                               .task = task,
                               .forecast = &forecast};
    st = memory ? print_json(&page, memory) : hu_bits_print(&page);
done:
    hu_forecast_free(&forecast);
    hu_bits_end(&course);
    return st;
}

hu_status hu_bitops_tell(const hu_config *config, const hu_train_options *options,
                         const hu_dataset *dataset, json_t *memory) {
    hu_status st = HU_OK;
    hu_graph *graph = NULL;
    hu_task_choice choice;
    hu_bits_layers layers = {0};
    hu_bits_task task;
    const char *precision;
    HU_TRY(hu_config_text(config, "precision.name", &precision));
    HU_TRY(hu_train_network(options, dataset, &choice, &graph));
    HU_TRY(hu_bits_layers_create(graph, &options->precision.bits, &layers));
    HU_TRY(make_task(options, dataset, &layers, &task));
    HU_TRY(tell(options, dataset, graph, &task, precision, memory));
done:
    hu_bits_layers_free(&layers);
    hu_graph_free(graph);
    return st;
}
