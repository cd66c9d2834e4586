#include "train/internal.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "precision/rules.h"
#include "train/trainer.h"

#define SECTION "state.formats"
#define KEY "optimizer.state"

/* "conv1.weight.momentum". */
static const char *name_of(const hu_trainer *trainer, hu_value_id v, int sort, char *text) {
    hu_tensor_kind kind = (hu_tensor_kind)(HU_TENSOR_MOMENTUM + sort);
    hu_tensor_name(trainer->graph, (hu_tensor){kind, v}, text);
    return text;
}

static bool has_state(const hu_trainer *trainer, int sort) {
    return hu_optimizer_has_state(&trainer->options.optimizer, (hu_state_sort)sort);
}

/* ---- rules ---- */

static hu_status unknown(const hu_trainer *trainer, const hu_rule *rule) {
    char nearest[512];
    uint32_t count = 0;
    char(*text)[HU_TENSOR_NAME_BYTES] = NULL;
    const char **names = NULL;
    hu_status st = HU_OK;
    HU_TRY(HU_NEW_ARRAY(&text, (size_t)trainer->parameter_count * HU_STATE_SORTS));
    HU_TRY(HU_NEW_ARRAY(&names, (size_t)trainer->parameter_count * HU_STATE_SORTS));
    for (uint32_t p = 0; p < trainer->parameter_count; p++)
        for (int s = 0; s < HU_STATE_SORTS; s++)
            if (has_state(trainer, s))
                names[count] = name_of(trainer, trainer->name_order[p], s, text[count]), count++;
    hu_nearest(rule->pattern, names, count, nearest, sizeof nearest);
    st = hu_fail(HU_ERR_PARSE,
                 KEY ": found '%s', expected a pattern that matches state of the optimizer, "
                     "nearest: %s",
                 rule->text, nearest);
done:
    hu_free(names);
    hu_free(text);
    return st;
}

/* Gives all state that matches the quantizer; pattern NULL: all. True if there is some. */
static bool give(hu_trainer *trainer, const char *pattern, const hu_quantizer *quantizer) {
    char name[HU_TENSOR_NAME_BYTES];
    bool found = false;
    for (uint32_t p = 0; p < trainer->parameter_count; p++)
        for (int s = 0; s < HU_STATE_SORTS; s++) {
            hu_value_id v = trainer->name_order[p];
            if (!has_state(trainer, s)) continue;
            if (pattern && !hu_glob_match(pattern, name_of(trainer, v, s, name))) continue;
            trainer->edges.state[s][v].quantizer = *quantizer;
            found = true;
        }
    return found;
}

/* State is rounded to nearest unless a rule says otherwise. */
static hu_status read_format(const char *text, hu_quantizer *quantizer) {
    hu_status st = hu_quantizer_parse(text, HU_ROUND_NEAREST_EVEN, quantizer);
    if (st == HU_OK) st = hu_state_check(quantizer);
    return st == HU_OK ? st : hu_fail_within(st, KEY ": ");
}

/* Formats have colons, too, but no blank after them. */
static hu_status apply(hu_trainer *trainer, const char *text) {
    hu_status st = HU_OK;
    hu_rule rule = {0};
    hu_quantizer quantizer;
    const char *format = text;
    if (strstr(text, ": "))
        HU_TRY(hu_rule_read(text, "FORMAT [MODE]' or 'PATTERN: FORMAT [MODE]", &rule, &format));
    HU_TRY(read_format(format, &quantizer));
    if (give(trainer, rule.pattern, &quantizer)) goto done;
    if (has_state(trainer, HU_STATE_MOMENTUM) || has_state(trainer, HU_STATE_SQUARES))
        HU_TRY(unknown(trainer, &rule));
    if (hu_quantizer_rounds(&quantizer))
        st = hu_fail(HU_ERR_ARGUMENT,
                     KEY ": found '%s', expected fp32: %s without momentum keeps "
                         "no state",
                     text, hu_optimizer_kinds[trainer->options.optimizer.kind].name);
done:
    hu_rule_free(&rule);
    return st;
}

/* One line for each tensor that is packed, in name order. */
static hu_status write_text(hu_trainer *trainer) {
    hu_status st = HU_OK;
    char name[HU_TENSOR_NAME_BYTES], format[HU_QUANTIZER_BYTES], *text = NULL;
    size_t room = 1, used = 0;
    for (uint32_t p = 0; p < trainer->parameter_count; p++)
        for (int s = 0; s < HU_STATE_SORTS; s++)
            room += strlen(name_of(trainer, trainer->name_order[p], s, name)) + sizeof format + 2;
    HU_TRY(HU_NEW_ARRAY(&text, room));
    for (uint32_t p = 0; p < trainer->parameter_count; p++)
        for (int s = 0; s < HU_STATE_SORTS; s++) {
            hu_value_id v = trainer->name_order[p];
            const hu_quantizer *quantizer = &trainer->edges.state[s][v].quantizer;
            if (!hu_quantizer_rounds(quantizer)) continue;
            trainer->edges.has_state[s] = true;
            hu_quantizer_print(quantizer, format, sizeof format);
            used += (size_t)snprintf(text + used, room - used, "%s %s\n",
                                     name_of(trainer, v, s, name), format);
        }
    trainer->state_formats = text;
done:
    return st;
}

hu_status hu_state_formats_write(hu_trainer *trainer) {
    hu_status st = HU_OK;
    const hu_keys *rules = trainer->options.optimizer_state;
    for (size_t i = 0; rules && i < hu_keys_count(rules); i++)
        HU_TRY(apply(trainer, hu_keys_value(hu_keys_at(rules, i))));
    HU_TRY(write_text(trainer));
done:
    return st;
}

/* ---- optimizers ---- */

static bool is_of_phase(const hu_trainer *trainer, hu_value_id v, int phase) {
    const hu_value_info *value = &trainer->graph->value[v];
    return value->role == HU_VALUE_PARAMETER && value->phase == phase;
}

/* Masters stand in the order of their values. */
hu_status hu_state_formats_plan(const hu_trainer *trainer, int phase, hu_state_plan *plan) {
    hu_state_tensor *tensor;
    const hu_phase_state *learner = &trainer->phase[phase];
    hu_status st = HU_NEW_ARRAY(&tensor, learner->count);
    *plan = (hu_state_plan){.tensor = tensor,
                            .seed = trainer->options.run.seed,
                            .records = trainer->options.histogram_every > 0};
    for (hu_value_id v = 0; st == HU_OK && v < trainer->graph->value_count; v++) {
        if (!is_of_phase(trainer, v, phase)) continue;
        hu_state_tensor *one = &tensor[plan->count++];
        one->first = trainer->weights.offset[v] - learner->offset;
        one->count = trainer->graph->value[v].elements;
        one->name = trainer->graph->value[v].name;
        for (int s = 0; s < HU_STATE_SORTS; s++)
            one->quantizer[s] = trainer->edges.state[s][v].quantizer;
    }
    return st;
}

/* Takes over what the update of a tensor counted. */
static bool note(hu_edge *edge, const hu_moment_part *part, bool records) {
    if (!part || !part->is_packed) return false;
    edge->counts = part->counts;
    edge->exponents = records ? part->exponents : NULL;
    return hu_edge_nonfinite(&edge->quantizer, &edge->counts);
}

bool hu_state_formats_note(hu_trainer *trainer, int phase, bool records) {
    const hu_optimizer *optimizer = trainer->phase[phase].optimizer;
    bool nonfinite = false;
    uint32_t i = 0;
    for (hu_value_id v = 0; v < trainer->graph->value_count; v++) {
        if (!is_of_phase(trainer, v, phase)) continue;
        for (int s = 0; s < HU_STATE_SORTS; s++)
            nonfinite |= note(&trainer->edges.state[s][v],
                              hu_optimizer_part(optimizer, (hu_state_sort)s, i), records);
        i++;
    }
    return nonfinite;
}

const char *hu_state_formats_culprit(const hu_trainer *trainer, char *text) {
    for (uint32_t p = 0; p < trainer->parameter_count; p++)
        for (int s = 0; s < HU_STATE_SORTS; s++) {
            const hu_edge *edge = &trainer->edges.state[s][trainer->name_order[p]];
            bool is_bad = hu_quantizer_rounds(&edge->quantizer) &&
                          hu_edge_nonfinite(&edge->quantizer, &edge->counts);
            if (is_bad) return name_of(trainer, trainer->name_order[p], s, text);
        }
    return NULL;
}

/* ---- checkpoints ---- */

hu_status hu_state_formats_save(const hu_trainer *trainer, hu_checkpoint_writer *writer) {
    size_t bytes = strlen(trainer->state_formats);
    return bytes ? hu_checkpoint_add(writer, SECTION, trainer->state_formats, bytes) : HU_OK;
}

/* The line that begins at *at, without its end; *at moves after it. */
static int next_line(const char *text, size_t bytes, size_t *at, const char **line) {
    *line = text + *at;
    size_t length = 0;
    while (*at + length < bytes && (*line)[length] != '\n') length++;
    *at += length + (*at + length < bytes);
    return (int)length;
}

hu_status hu_state_formats_check(const hu_trainer *trainer, const hu_checkpoint *checkpoint) {
    const void *data = "";
    const char *here = trainer->state_formats, *saved, *line, *other;
    size_t bytes = 0, count = strlen(here), at = 0, beside = 0;
    hu_status st = hu_checkpoint_section(checkpoint, SECTION, &data, &bytes);
    if (st != HU_OK && st != HU_ERR_MISSING) return st;
    saved = st == HU_OK ? data : "";
    if (st == HU_ERR_MISSING) bytes = 0;
    if (bytes == count && memcmp(here, saved, bytes) == 0) return HU_OK;
    int length, others;
    do {
        length = next_line(here, count, &at, &line);
        others = next_line(saved, bytes, &beside, &other);
    } while (length == others && memcmp(line, other, (size_t)length) == 0 && length > 0);
    return hu_fail(HU_ERR_ARGUMENT,
                   KEY ": found '%.*s', expected '%.*s' as in %s: a run keeps the formats of its "
                       "optimizer's state",
                   length ? length : 4, length ? line : "fp32", others ? others : 4,
                   others ? other : "fp32", hu_checkpoint_path(checkpoint));
}
