/* bench/network.c - `plan nodes=N`: predicted times of all ways over a network. */
#include "bench/network.h"

#include "base/error.h"
#include "report/network_advice.h"
#include "session/comm_study.h"
#include "show/table.h"
#include "train/prepare.h"

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
