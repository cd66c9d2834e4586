/* Candidates of a search: how much each group would lose, which sets of groups fit the budget. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "journal/history.h"
#include "sweep/assign.h"

/* ---- loss of the groups ---- */

/* A tensor of a histogram: its value, and whether it is the gradient. HU_NONE: none of the graph.
 */
static hu_value_id find_tensor(const hu_graph *graph, const char *name, bool *is_gradient) {
    static const char suffix[] = ".grad";
    char plain[HU_NAME_BYTES];
    size_t length = strlen(name), end = sizeof suffix - 1;
    *is_gradient = length > end && strcmp(name + length - end, suffix) == 0;
    if (*is_gradient) length -= end;
    if (length >= sizeof plain) return HU_NONE;
    memcpy(plain, name, length);
    plain[length] = '\0';
    return hu_graph_find(graph, plain);
}

/* The low format of a tensor; NULL: it is never low. */
static const hu_quantizer *low_of(const hu_assign *assign, hu_value_id v, bool is_gradient) {
    bool is_param = assign->graph->value[v].role == HU_VALUE_PARAMETER;
    hu_role role = is_param ? (is_gradient ? HU_ROLE_WEIGHT_GRAD : HU_ROLE_WEIGHT)
                            : (is_gradient ? HU_ROLE_ACT_GRAD : HU_ROLE_ACT);
    const hu_quantizer *low = &assign->precision.low[role];
    return low->kind == HU_QUANTIZER_FLOAT ? low : NULL;
}

/* The largest power of two under which no gradient of any step overflows its low format. */
static int32_t gradient_shift(const hu_assign *assign, const hu_history *history) {
    int32_t shift = INT32_MAX;
    for (size_t h = 0; h < history->histogram_count; h++)
        for (uint32_t t = 0; t < history->histograms[h].count; t++) {
            const hu_tensor_exponents *x = &history->histograms[h].tensor[t];
            bool is_gradient;
            hu_value_id v =
                find_tensor(assign->graph, history->tensors.name[x->tensor], &is_gradient);
            int32_t top = hu_exponents_top(&x->exponents);
            const hu_quantizer *low = v == HU_NONE ? NULL : low_of(assign, v, is_gradient);
            if (!low || !is_gradient || top == HU_NO_EXPONENT) continue;
            int32_t here = hu_exponents_scale(top, &low->format) - 1;
            if (here < shift) shift = here;
        }
    return shift == INT32_MAX ? 0 : shift;
}

/* Adds the largest loss of each tensor over the steps, weighted by its elements. worst: [2 *
 * value_count]. */
static void add_losses(hu_assign *assign, const hu_history *history, double *worst) {
    const hu_graph *graph = assign->graph;
    int32_t shift = gradient_shift(assign, history);
    for (size_t h = 0; h < history->histogram_count; h++)
        for (uint32_t t = 0; t < history->histograms[h].count; t++) {
            const hu_tensor_exponents *x = &history->histograms[h].tensor[t];
            bool is_gradient;
            hu_value_id v = find_tensor(graph, history->tensors.name[x->tensor], &is_gradient);
            const hu_quantizer *low = v == HU_NONE ? NULL : low_of(assign, v, is_gradient);
            if (!low) continue;
            hu_lost lost = hu_exponents_lost(&x->exponents, &low->format, is_gradient ? shift : 0);
            double *here = &worst[2 * v + is_gradient];
            *here = fmax(*here, lost.overflow.share + lost.underflow.share);
        }
    for (hu_value_id v = 0; v < graph->value_count; v++) {
        uint32_t g = assign->groups.tensors.of_value[v];
        if (g == HU_NONE) continue;
        double elements = (double)hu_tensor_elements(&graph->value[v], assign->batch);
        assign->groups.loss[g] += (worst[2 * v] + worst[2 * v + 1]) * elements /
                                  (double)assign->groups.tensors.elements[g];
    }
}

hu_status hu_assign_measure_loss(hu_assign *assign) {
    hu_status st = HU_OK;
    char folder[1024];
    hu_history *history = NULL;
    double *worst = NULL;
    size_t values = 2 * (size_t)assign->graph->value_count;
    snprintf(folder, sizeof folder, "%s/fp32-%lld-s%s", assign->directory, (long long)assign->steps,
             hu_keys_value(hu_keys_at(assign->seeds, 0)));
    HU_TRY(hu_history_read_some(folder, &history));
    assign->knows_loss = history->histogram_count > 0;
    HU_TRY(HU_NEW_ARRAY(&worst, values));
    add_losses(assign, history, worst);
done:
    hu_history_free(history);
    hu_free(worst);
    return st;
}

/* ---- plan files ---- */

/* "group:1, group:4, ...": groups by number. */
static hu_status list_groups(const hu_assign *assign, const hu_assign_candidate *c, char **text) {
    enum { ITEM_BYTES = 20 };
    size_t used = 0, capacity = (size_t)assign->groups.tensors.count * ITEM_BYTES + 1;
    hu_status st = HU_NEW_ARRAY(text, capacity);
    if (st != HU_OK) return st;
    for (uint32_t g = 0; g < assign->groups.tensors.count; g++)
        if (c->low[g])
            used +=
                (size_t)snprintf(*text + used, capacity - used, "%sgroup:%u", used ? ", " : "", g);
    return HU_OK;
}

static hu_status put_text(hu_keys *tree, const char *key, const char *text) {
    hu_keys *node;
    hu_status st = hu_keys_create(HU_KEYS_TEXT, text, "assign", &node);
    return st == HU_OK ? hu_keys_set(tree, key, node) : st;
}

/* precision.low_tensors: the low groups by number. */
static hu_status put_low_groups(const hu_assign *assign, const hu_assign_candidate *c,
                                hu_keys *tree) {
    hu_status st = HU_OK;
    hu_keys *list = NULL, *item;
    char text[24];
    HU_TRY(hu_keys_create(HU_KEYS_LIST, NULL, "assign", &list));
    for (uint32_t g = 0; g < assign->groups.tensors.count; g++) {
        if (!c->low[g]) continue;
        snprintf(text, sizeof text, "group:%u", g);
        HU_TRY(hu_keys_create(HU_KEYS_TEXT, text, "assign", &item));
        HU_TRY(hu_keys_append(list, item));
    }
    return hu_keys_set(tree, "precision.low_tensors", list);
done:
    hu_keys_free(list);
    return st;
}

/* The candidates' formats, and all that the command says of precision, rules too. */
static hu_status put_precision(const hu_assign *assign, hu_keys *tree) {
    static const char *const always[] = {"precision.high", "precision.low", "precision.promote_at"};
    hu_status st = HU_OK;
    hu_keys *copy;
    const char *text;
    for (size_t i = 0; i < sizeof always / sizeof *always; i++) {
        HU_TRY(hu_config_text(assign->config, always[i], &text));
        HU_TRY(put_text(tree, always[i], text));
    }
    for (size_t i = 0; i < hu_config_key_count; i++) {
        const char *key = hu_config_keys[i].name;
        bool is_ours = strncmp(key, "precision.", 10) == 0 && hu_config_given(assign->config, key);
        if (!is_ours || hu_keys_find(tree, key)) continue;
        HU_TRY(hu_keys_copy(hu_keys_find(hu_config_tree(assign->config), key), &copy));
        HU_TRY(hu_keys_set(tree, key, copy));
    }
done:
    return st;
}

hu_status hu_assign_write_plan(const hu_assign *assign, const hu_assign_candidate *c,
                               const char *path, const char *evidence) {
    hu_status st = HU_OK;
    hu_keys *tree = NULL;
    char *yaml = NULL, *text = NULL;
    bool has_low = c && c->groups_low;
    HU_TRY(hu_keys_create(HU_KEYS_MAP, NULL, "assign", &tree));
    HU_TRY(put_text(tree, "precision.name", has_low ? "listed+promote" : "high"));
    if (has_low) HU_TRY(put_low_groups(assign, c, tree));
    HU_TRY(put_precision(assign, tree));
    HU_TRY(hu_keys_print(tree, &yaml));
    size_t capacity = strlen(yaml) + (evidence ? strlen(evidence) : 0) + 1;
    HU_TRY(HU_NEW_ARRAY(&text, capacity));
    snprintf(text, capacity, "%s%s", yaml, evidence ? evidence : "");
    HU_TRY(hu_file_replace(path, text, capacity - 1));
done:
    hu_keys_free(tree);
    hu_free(yaml);
    hu_free(text);
    return st;
}

/* ---- candidates ---- */

/* Whether an earlier order found the same set. */
static bool is_known(const hu_assign *assign, const bool *low) {
    for (uint32_t i = 0; i < assign->count; i++)
        if (memcmp(assign->candidate[i].low, low, assign->groups.tensors.count * sizeof *low) == 0)
            return true;
    return false;
}

/* The name is a hash of the set: the same set is the same training, whatever order found it, and is
 * found again by the next command. */
static hu_status name_candidate(const hu_assign *assign, hu_assign_candidate *c) {
    char *groups = NULL;
    hu_status st = list_groups(assign, c, &groups);
    if (st != HU_OK) return st;
    snprintf(c->name, sizeof c->name, "low-%08x", (unsigned)XXH64(groups, strlen(groups), 0));
    snprintf(c->path, sizeof c->path, "%s/plans/%s.yaml", assign->directory, c->name);
    hu_free(groups);
    return hu_assign_write_plan(assign, c, c->path, NULL);
}

/* Adds what an order makes of a limit of bits, unless it is there already. */
static hu_status add_candidate(hu_assign *assign, hu_search_order order, uint64_t seed, double most,
                               bool trims) {
    hu_status st = HU_OK;
    hu_assign_candidate c = {.order = order,
                             .seed = seed,
                             .is_trimmed = trims,
                             .is_plain = order == HU_SEARCH_SIZE && !trims};
    HU_TRY(HU_NEW_ARRAY(&c.low, assign->groups.tensors.count));
    HU_TRY(hu_search_fill(&assign->groups, order, seed, (int64_t)most, trims, c.low, &c.bits));
    for (uint32_t g = 0; g < assign->groups.tensors.count; g++) c.groups_low += c.low[g];
    bool is_new = (double)c.bits <= most && c.groups_low > 0 && !is_known(assign, c.low);
    if (!is_new || assign->count == assign->capacity) goto done;
    HU_TRY(name_candidate(assign, &c));
    assign->candidate[assign->count++] = c;
    return HU_OK;
done:
    hu_free(c.low);
    return st;
}

/* Every order under one limit. */
static hu_status add_orders(hu_assign *assign, double most) {
    hu_status st = HU_OK;
    for (int trims = 0; trims <= 1; trims++)
        for (int order = 0; order < HU_SEARCH_RANDOM; order++) {
            bool needs_loss = order == HU_SEARCH_LOSS || order == HU_SEARCH_TRADE;
            if (needs_loss && !assign->knows_loss) continue;
            HU_TRY(add_candidate(assign, (hu_search_order)order, 0, most, trims));
        }
    for (int64_t i = 0; i < assign->random_orders; i++)
        HU_TRY(add_candidate(assign, HU_SEARCH_RANDOM, (uint64_t)i + 1, most, true));
done:
    return st;
}

/* Bits with every group low that saves any. */
static int64_t least_bits(const hu_search_groups *groups) {
    int64_t bits = groups->all_high;
    for (uint32_t g = 0; g < groups->tensors.count; g++)
        bits -= groups->saved[g] > 0 ? groups->saved[g] : 0;
    return bits;
}

hu_status hu_assign_check_budget(const hu_assign *assign) {
    enum { ROUND = 10000 };
    double least = (double)least_bits(&assign->groups), plain = (double)assign->groups.all_plain;
    if (!assign->is_memory || least <= assign->budget * plain) return HU_OK;
    return hu_fail(HU_ERR_ARGUMENT,
                   "budget: found memory:%g, expected at least %.4f: the share of float32's bits "
                   "that is left with every group low",
                   assign->budget, ceil(ROUND * least / plain) / ROUND);
}

hu_status hu_assign_make_candidates(hu_assign *assign) {
    /* For a metric: parts of what all groups together can save. */
    static const double parts[] = {1.0, 0.9, 0.75, 0.6, 0.45, 0.3};
    enum { PARTS = sizeof parts / sizeof *parts };
    hu_status st = HU_OK;
    int64_t least = least_bits(&assign->groups);
    double plain = (double)assign->groups.all_plain, high = (double)assign->groups.all_high;
    assign->capacity = (uint32_t)(PARTS * (2 * HU_SEARCH_ORDERS + (size_t)assign->random_orders));
    HU_TRY(HU_NEW_ARRAY(&assign->candidate, assign->capacity));
    if (!assign->is_memory) {
        for (int p = 0; p < PARTS; p++)
            HU_TRY(add_orders(assign, ceil(high - parts[p] * (high - (double)least))));
        return HU_OK;
    }
    HU_TRY(add_orders(assign, assign->budget * plain));
done:
    return st;
}
