#include "session/advice.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/words.h"
#include "session/comm.h"
#include "train/wire_plan.h"

enum { CHOICES_MOST = 16, NAME_BYTES = 128 };

static hu_status list_layers(const hu_config *config, const hu_graph *graph,
                             hu_advice_request *request) {
    hu_status st = HU_OK;
    hu_value_id *param = NULL;
    const char *exact;
    size_t count = (size_t)hu_wire_layer_count(graph);
    HU_TRY(hu_config_text(config, "comm.exact", &exact));
    HU_TRY(HU_NEW_ARRAY(&param, count));
    HU_TRY(HU_NEW_ARRAY(&request->layer, count));
    HU_TRY(hu_wire_layers(graph, exact, param, request->layer, &request->question.layers));
    request->question.layer = request->layer;
    request->parameters = hu_graph_parameters(graph);
done:
    hu_free(param);
    return st;
}

/* What a format costs here: as another one of its width, which is measured already, or measured. */
static hu_status find_rates(const hu_advice_request *request, hu_comm_choice *choice) {
    hu_wire wire;
    for (const hu_comm_choice *other = request->choice; other < choice; other++)
        if (hu_format_bits(&other->format) == hu_format_bits(&choice->format)) {
            choice->rates = other->rates;
            return HU_OK;
        }
    hu_status st = hu_wire_init(&wire, &choice->format, HU_ROUND_NEAREST_EVEN);
    return st == HU_OK ? hu_comm_rates_measure(&wire, &choice->rates) : st;
}

/* Whether the format is among the choices before this one: users list fp16, too. */
static bool is_listed(const hu_advice_request *request, const hu_comm_choice *choice) {
    char name[NAME_BYTES], other_name[NAME_BYTES];
    if (hu_format_print(&choice->format, name, sizeof name) != HU_OK) return false;
    for (const hu_comm_choice *other = request->choice; other < choice; other++)
        if (hu_format_print(&other->format, other_name, sizeof other_name) == HU_OK &&
            strcmp(other_name, name) == 0)
            return true;
    return false;
}

/* Adds a format that is new, with what it costs here. */
static hu_status add_choice(const char *name, hu_advice_request *request) {
    hu_status st = HU_OK;
    if (request->question.choices == CHOICES_MOST)
        return hu_fail(HU_ERR_LIMIT, "format: expected at most %d formats", CHOICES_MOST);
    hu_comm_choice *choice = &request->choice[request->question.choices];
    HU_TRY(hu_format_parse(name, &choice->format));
    if (is_listed(request, choice)) return HU_OK;
    HU_TRY(find_rates(request, choice));
    request->question.choices++;
done:
    return st;
}

/* The formats that few bits must beat, and those of few bits. */
static hu_status list_choices(const hu_config *config, hu_advice_request *request) {
    hu_status st = HU_OK;
    const char *text = "e5m2,e4m3";
    HU_TRY(HU_NEW_ARRAY(&request->choice, CHOICES_MOST));
    request->question.choice = request->choice;
    HU_TRY(add_choice("fp32", request));
    HU_TRY(add_choice("fp16", request));
    const char *key = hu_config_given(config, "comm.format") ? "comm.format" : "bench.format";
    if (hu_config_given(config, key)) HU_TRY(hu_config_text(config, key, &text));
    while (*text) {
        const char *end;
        char name[NAME_BYTES] = "";
        size_t length = hu_word_at(&text, &end);
        if (length >= NAME_BYTES) return hu_fail(HU_ERR_PARSE, "format: found too long a name");
        memcpy(name, text, length);
        HU_TRY(add_choice(name, request));
        text = end + (*end == ',');
    }
done:
    return st;
}

/* Nodes are what a training calls workers. */
static hu_status check_workers(const hu_config *config, int64_t nodes) {
    int64_t workers;
    hu_status st = hu_config_i64(config, "comm.workers", &workers);
    if (st == HU_OK && hu_config_given(config, "comm.workers") && workers != nodes)
        st = hu_fail(HU_ERR_ARGUMENT,
                     "key 'comm.workers': found %lld beside nodes=%lld, expected the same number",
                     (long long)workers, (long long)nodes);
    return st;
}

hu_status hu_advice_read(hu_config *config, const hu_graph *graph, hu_advice_request *request) {
    hu_status st = HU_OK;
    hu_comm_question *question = &request->question;
    const char *rate, *latency, *scaling;
    int64_t nodes;
    int32_t constant;
    *request = (hu_advice_request){0};
    HU_TRY(hu_config_i64(config, "cluster.nodes", &nodes));
    question->nodes = (int32_t)nodes; /* the table of keys bounds it */
    HU_TRY(check_workers(config, nodes));
    HU_TRY(hu_config_text(config, "cluster.link", &rate));
    HU_TRY(hu_config_text(config, "cluster.latency", &latency));
    HU_TRY(hu_comm_link_parse(rate, latency, &question->link));
    HU_TRY(hu_config_set(config, "comm.scaling", "aps", "plan"));
    HU_TRY(hu_config_text(config, "comm.scaling", &scaling));
    HU_TRY(hu_comm_scaling_parse(scaling, &question->scaling, &constant));
    if (question->scaling->code)
        HU_TRY(hu_fail(HU_ERR_ARGUMENT,
                       "key 'comm.scaling': found '%s', whose codes have no format to compare, "
                       "expected a scaling of formats, such as aps; halfulp comm compares both",
                       scaling));
    HU_TRY(hu_options_bucket(config, question->nodes, &question->bucket_bytes));
    HU_TRY(list_layers(config, graph, request));
    HU_TRY(list_choices(config, request));
done:
    if (st != HU_OK) hu_advice_request_free(request);
    return st;
}

void hu_advice_request_free(hu_advice_request *request) {
    hu_free(request->layer);
    hu_free(request->choice);
    *request = (hu_advice_request){0};
}
