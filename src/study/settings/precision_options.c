#include "settings/options.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "precision/bits.h"
#include "precision/precision.h"

/* ---- Lists of a configuration as one text ---- */

hu_status hu_options_join(const hu_config *config, const char *key, char *text, size_t capacity) {
    const hu_keys *list;
    size_t used = 0;
    hu_status st = hu_config_list(config, key, &list);
    text[0] = '\0';
    for (size_t i = 0; st == HU_OK && i < hu_keys_count(list); i++) {
        const char *item = hu_keys_value(hu_keys_at(list, i));
        if (strcmp(item, "auto") == 0) continue;
        int written = snprintf(text + used, capacity - used, "%s%s", used ? "," : "", item);
        if (written < 0 || (size_t)written >= capacity - used)
            return hu_fail(HU_ERR_LIMIT, "%s: the list is longer than %zu characters", key,
                           capacity);
        used += (size_t)written;
    }
    return st;
}

/* ---- The keys bits.* and cost.* as schedules of bits take them ---- */

enum { LIST_BYTES = 1024 };

/* What all schedules read. */
static hu_status read_common(const hu_config *config, hu_bits *bits) {
    hu_status st = HU_OK;
    const char *text;
    const hu_keys *rules;
    int64_t exponent;
    HU_TRY(hu_config_text(config, "bits.kind", &text));
    bits->kind = strcmp(text, "float") == 0 ? HU_BITS_FLOAT : HU_BITS_INTEGER;
    HU_TRY(hu_config_i64(config, "bits.exponent", &exponent));
    bits->exponent_bits = (uint32_t)exponent;
    HU_TRY(hu_config_text(config, "bits.grad", &text));
    HU_TRY(hu_bits_parse_gradient(text, bits));
    HU_TRY(hu_config_text(config, "bits.grad_weights", &text));
    HU_TRY(hu_bits_parse_gradient_of_weights(text, bits));
    HU_TRY(hu_config_bool(config, "bits.norms", &bits->norms));
    HU_TRY(hu_config_bool(config, "bits.first_float", &bits->first_float));
    HU_TRY(hu_config_bool(config, "bits.last_float", &bits->last_float));
    HU_TRY(hu_config_list(config, "bits.layers", &rules));
    for (size_t i = 0; i < hu_keys_count(rules); i++)
        HU_TRY(hu_bits_add_rule(bits, hu_keys_value(hu_keys_at(rules, i))));
    HU_TRY(hu_config_text(config, "bits.per", &text));
    bits->by_step = strcmp(text, "step") == 0;
done:
    return st;
}

/* cpt, random and staged. */
static hu_status read_fixed(const hu_config *config, hu_bits *bits) {
    hu_status st = HU_OK;
    char text[LIST_BYTES];
    const hu_keys *stages;
    HU_TRY(hu_config_i64(config, "bits.cycles", &bits->cycles));
    HU_TRY(hu_config_i64(config, "bits.every", &bits->every));
    HU_TRY(hu_config_i64(config, "bits.until", &bits->until));
    HU_TRY(hu_options_join(config, "bits.set", text, sizeof text));
    if (bits->schedule == &hu_bits_random) HU_TRY(hu_bits_parse_set(text, bits));
    HU_TRY(hu_config_list(config, "bits.stages", &stages));
    for (size_t i = 0; bits->schedule == &hu_bits_staged && i < hu_keys_count(stages); i++)
        HU_TRY(hu_bits_add_stage(bits, hu_keys_value(hu_keys_at(stages, i))));
done:
    return st;
}

/* One of the two lists of pfq. */
static hu_status read_turns(const hu_config *config, const char *key, uint8_t *turns,
                            uint32_t *count) {
    char text[LIST_BYTES];
    hu_status st = hu_options_join(config, key, text, sizeof text);
    if (st == HU_OK) st = hu_bits_parse_list(text, HU_BITS_TURNS_MOST, turns, count);
    return st == HU_OK ? st : hu_fail_within(st, "%s: ", key);
}

/* pfq and ldp. */
static hu_status read_following(const hu_config *config, hu_bits *bits) {
    hu_status st = HU_OK;
    const char *cost;
    int64_t residual;
    HU_TRY(read_turns(config, "bits.turns", bits->turn, &bits->turn_count));
    HU_TRY(read_turns(config, "bits.grad_turns", bits->gradient_turn, &bits->gradient_turn_count));
    HU_TRY(hu_config_i64(config, "bits.interval", &bits->interval));
    HU_TRY(hu_config_f64(config, "bits.epsilon", &bits->epsilon));
    HU_TRY(hu_config_f64(config, "bits.decay", &bits->decay));
    HU_TRY(hu_config_f64(config, "bits.target", &bits->target));
    HU_TRY(hu_config_f64(config, "bits.balance", &bits->balance));
    HU_TRY(hu_config_f64(config, "bits.lr", &bits->rate));
    HU_TRY(hu_config_i64(config, "bits.residual", &residual));
    if (residual == 1)
        HU_TRY(hu_fail(HU_ERR_ARGUMENT, "bits.residual: found 1, expected 0 or 2 to 8"));
    bits->residual_bits = (uint32_t)residual;
    HU_TRY(hu_config_text(config, "bits.cost", &cost));
    HU_TRY(hu_cost_find(cost, &bits->cost));
done:
    return st;
}

/* cost.file, once the ranges are known that it must cover. */
static hu_status read_costs(const hu_config *config, hu_bits *bits) {
    hu_status st = HU_OK;
    const char *path;
    hu_keys *tree = NULL;
    HU_TRY(hu_config_text(config, "cost.file", &path));
    if (strcmp(path, "none") == 0) return HU_OK;
    HU_TRY(hu_bits_check_floats(bits));
    st = hu_yaml_read(path, &tree);
    if (st != HU_OK) {
        st = hu_fail_within(st, "cost.file: ");
        goto done;
    }
    HU_TRY(HU_NEW(&bits->rates));
    st = hu_cost_rates_read(tree, bits, bits->rates);
    /* Lines of the file say where they are. */
    if (st != HU_OK && strncmp(hu_last_error(), path, strlen(path)) != 0)
        st = hu_fail_within(st, "%s: ", path);
done:
    hu_keys_free(tree);
    return st;
}

/* Reads them into bits that a precision has; nothing where it has no schedule. The file of costs
 * too (HU_ERR_MISSING, HU_ERR_PARSE, HU_ERR_ARGUMENT with its name). */
static hu_status hu_options_bits(const hu_config *config, hu_bits *bits) {
    hu_status st = HU_OK;
    if (!bits->schedule) return HU_OK;
    HU_TRY(read_common(config, bits));
    HU_TRY(read_fixed(config, bits));
    HU_TRY(read_following(config, bits));
    HU_TRY(read_costs(config, bits));
done:
    return st;
}

/* Whether a word is among words with spaces between them. */
static bool is_among(const char *word, const char *words) {
    size_t length = strlen(word);
    for (const char *at = words; (at = strstr(at, word)) != NULL; at += length)
        if ((at == words || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

/* Whether a key still has its usual value. A resumed run gives all keys. */
static bool is_usual(const hu_config *config, const hu_config_key *key) {
    char list[LIST_BYTES];
    const char *text = list;
    hu_status st = key->type == HU_CONFIG_LIST
                       ? hu_options_join(config, key->name, list, sizeof list)
                       : hu_config_text(config, key->name, &text);
    return st == HU_OK && strcmp(text, key->preset) == 0;
}

bool hu_options_is_of_bits(const char *key) {
    return strncmp(key, "bits.", 5) == 0 || strcmp(key, "cost.file") == 0;
}

bool hu_options_bits_read(const hu_bits_schedule *schedule, const char *key) {
    static const char common[] =
        "bits.kind bits.exponent bits.grad bits.grad_weights bits.norms bits.first_float "
        "bits.last_float bits.layers cost.file";
    return schedule && (is_among(key, common) || is_among(key, schedule->keys));
}

/* HU_ERR_ARGUMENT: a key with another value than its usual one that nothing would read. */
static hu_status options_check_bits(const hu_config *config, const hu_precision *precision) {
    const hu_bits_schedule *schedule = precision->bits.schedule;
    for (size_t i = 0; i < hu_config_key_count; i++) {
        const hu_config_key *key = &hu_config_keys[i];
        bool is_read = hu_options_bits_read(schedule, key->name);
        if (!hu_options_is_of_bits(key->name) || is_read || is_usual(config, key)) continue;
        return hu_fail(HU_ERR_ARGUMENT,
                       "found key '%s' with precision '%s', which does not read it", key->name,
                       precision->name);
    }
    return HU_OK;
}

hu_status hu_options_tell_bits(const hu_config *config, const hu_trainer *trainer,
                               const hu_listener *listener) {
    hu_status st = HU_OK;
    const hu_bits_meter *meter = hu_trainer_bits(trainer);
    hu_bits_course course = {0};
    const char *precision;
    bool is_stuck;
    if (!meter || !meter->task->bits->schedule->hastened) return HU_OK;
    const hu_bits_task *task = meter->task;
    if (task->steps == 0) return HU_OK;
    HU_TRY(hu_config_text(config, "precision.name", &precision));
    HU_TRY(hu_bits_begin(task, &course));
    HU_TRY(hu_forecast_is_stuck(task, &course, &is_stuck));
    if (is_stuck)
        hu_listener_tell(listener,
                         "warning: %lld steps are too few for %s to leave %u bits: more steps or "
                         "%s would let it",
                         (long long)task->steps, precision, task->bits->forward.least,
                         course.schedule->hastened);
done:
    hu_bits_end(&course);
    return st;
}

hu_status hu_options_forget_bits(hu_keys *saved, const char *precision) {
    hu_status st = HU_OK;
    hu_bits bits;
    bool found;
    if (hu_bits_parse(precision, &bits, &found) != HU_OK) return HU_OK; /* refused later */
    for (size_t i = 0; i < hu_config_key_count; i++) {
        const hu_config_key *key = &hu_config_keys[i];
        if (!hu_options_is_of_bits(key->name) || key->type == HU_CONFIG_LIST) continue;
        if (hu_options_bits_read(bits.schedule, key->name)) continue;
        HU_TRY(hu_keys_set_text(saved, key->name, key->preset, hu_keys_origin(saved)));
    }
done:
    return st;
}

/* ---- The keys precision.* and accumulator.* as the trainer takes them ---- */

/* What only assignments and promotion have. A list without "listed" would be dead words. */
static hu_status read_assignment(const hu_config *config, hu_precision *precision) {
    hu_status st = HU_OK;
    const char *high, *low;
    HU_TRY(hu_config_text(config, "precision.high", &high));
    HU_TRY(hu_config_text(config, "precision.low", &low));
    HU_TRY(hu_precision_set_candidates(precision, high, low));
    HU_TRY(hu_config_f64(config, "precision.promote_at", &precision->promote_at));
done:
    return st;
}

/* Whether the assignment takes its low tensors from a list. */
static bool is_listed(const hu_precision *precision) {
    return precision->assignment.kind == &hu_assignment_listed;
}

/* precision.low_tensors, for the assignment that reads it. */
static hu_status read_listed(const hu_config *config, hu_precision *precision) {
    hu_status st = HU_OK;
    const hu_keys *list;
    HU_TRY(hu_config_list(config, "precision.low_tensors", &list));
    for (size_t i = 0; is_listed(precision) && i < hu_keys_count(list); i++)
        HU_TRY(hu_precision_add_listed(precision, hu_keys_value(hu_keys_at(list, i))));
done:
    return st;
}

/* A list of low tensors where no precision is "listed" would be dead words. */
static hu_status check_listed(const hu_config *config, const hu_precision *precision) {
    const hu_keys *list;
    bool any = is_listed(precision);
    hu_status st = hu_config_list(config, "precision.low_tensors", &list);
    for (uint32_t p = 0; p < precision->phase_count; p++)
        any = any || is_listed(&precision->phases[p].precision);
    if (st != HU_OK || any || hu_keys_count(list) == 0) return st;
    return hu_fail(HU_ERR_ARGUMENT,
                   "precision.low_tensors: found %zu with precision '%s', expected them with "
                   "precision=listed",
                   hu_keys_count(list), precision->name);
}

static bool is_lee(const hu_config *config) {
    const char *compat;
    return hu_config_text(config, "precision.compat", &compat) == HU_OK &&
           strcmp(compat, "lee") == 0;
}

/* The rounding mode of all tensors first: a rule that names one keeps it. That of precision.compat
 * gives way to precision.rounding. */
static hu_status read_rules(const hu_config *config, hu_precision *precision) {
    hu_status st = HU_OK;
    const char *rounding;
    const hu_keys *rules;
    if (is_lee(config)) HU_TRY(hu_precision_set_lee(precision));
    HU_TRY(hu_config_text(config, "precision.rounding", &rounding));
    if (strcmp(rounding, "auto") != 0) {
        hu_rounding mode;
        if (precision->bits.schedule)
            return hu_fail(HU_ERR_ARGUMENT,
                           "precision.rounding: found %s with precision '%s', which rounds inputs "
                           "and weights to nearest and gradients stochastically; expected auto",
                           rounding, precision->name);
        st = hu_rounding_parse(rounding, &mode);
        if (st != HU_OK) return hu_fail_within(st, "precision.rounding: ");
        HU_TRY(hu_precision_set_rounding(precision, mode));
    }
    HU_TRY(hu_config_list(config, "precision.rules", &rules));
    for (size_t i = 0; i < hu_keys_count(rules); i++)
        HU_TRY(hu_precision_add_rule(precision, hu_keys_value(hu_keys_at(rules, i))));
done:
    return st;
}

/* Operands of products: what stays high is the recipe's unless the user says otherwise. */
static hu_status read_operands(const hu_config *config, hu_precision *precision) {
    hu_status st = HU_OK;
    const hu_keys *rules, *high;
    HU_TRY(hu_config_list(config, "operand.high", &high));
    if (hu_keys_count(high) > 0) hu_operand_choices_clear_high(&precision->operands);
    for (size_t i = 0; i < hu_keys_count(high); i++) {
        const char *layers = hu_keys_value(hu_keys_at(high, i));
        if (strcmp(layers, "none") != 0)
            HU_TRY(hu_operand_choices_add_high(&precision->operands, layers));
    }
    HU_TRY(hu_config_list(config, "operand.rules", &rules));
    for (size_t i = 0; i < hu_keys_count(rules); i++)
        HU_TRY(hu_operand_choices_add_rule(&precision->operands, precision->rounding,
                                           hu_keys_value(hu_keys_at(rules, i))));
done:
    return st;
}

/* The tensors of a resolved plan, which are dead words elsewhere. */
static hu_status read_tensors(const hu_config *config, hu_precision *precision) {
    hu_status st = HU_OK;
    const hu_keys *list;
    const char *low_bits;
    HU_TRY(hu_config_list(config, "precision.tensors", &list));
    if (!precision->is_resolved && hu_keys_count(list) > 0)
        return hu_fail(HU_ERR_ARGUMENT,
                       "precision.tensors: found %zu with precision '%s', expected them with "
                       "precision=resolved",
                       hu_keys_count(list), precision->name);
    for (size_t i = 0; i < hu_keys_count(list); i++) {
        const hu_keys *item = hu_keys_at(list, i);
        HU_TRY(hu_precision_add_tensor(precision, hu_keys_value(item), hu_keys_origin(item)));
    }
    HU_TRY(hu_config_text(config, "precision.low_bits", &low_bits));
    HU_TRY(hu_low_bits_parse(low_bits, precision->low_bits));
done:
    return st;
}

static bool rounds_nothing(const hu_precision *precision) {
    bool any = precision->rule_count > 0 || precision->phase_count > 0;
    for (int r = 0; r < HU_ROLE_COUNT; r++) any |= hu_quantizer_rounds(&precision->role[r]);
    return !any;
}

/* What none of the formats asks for would be a dead word; but float32 stands beside others in
 * comparisons and searches, whose rows share their keys. */
static hu_status check_lee(const hu_config *config, const hu_precision *precision) {
    if (!is_lee(config) || hu_precision_has_lee(precision) || rounds_nothing(precision))
        return HU_OK;
    return hu_fail(HU_ERR_ARGUMENT,
                   "precision.compat: found lee with precision '%s', expected a format whose codes "
                   "are all numbers, as those of hfp8 and high, or fp(e,m,b)",
                   precision->name);
}

static hu_status read_scaling(const hu_config *config, hu_precision *precision) {
    const char *word;
    hu_status st = hu_config_text(config, "precision.scaling", &word);
    if (st == HU_OK && strcmp(word, "auto") != 0) st = hu_scaling_parse(word, &precision->scaling);
    /* Gradients are near 1 already. */
    if (precision->scaling == HU_SCALING_UNIT) precision->scaler = HU_SCALER_NONE;
    return st;
}

/* A precision by its name, with the keys that hold for it; also one phase of several. */
static hu_status read_one(void *context, const char *name, hu_precision *precision) {
    hu_status st = HU_OK;
    const hu_config *config = context;
    const char *scheme;
    if (hu_is_plan_path(name))
        return hu_fail(HU_ERR_ARGUMENT,
                       "precision.name: found the plan file '%s' inside of a file, expected it on "
                       "the command line: precision=%s or config=%s",
                       name, name, name);
    HU_TRY(hu_precision_parse(name, precision));
    HU_TRY(read_assignment(config, precision));
    HU_TRY(read_listed(config, precision));
    HU_TRY(read_tensors(config, precision));
    HU_TRY(hu_options_bits(config, &precision->bits));
    HU_TRY(hu_config_text(config, "precision.scheme", &scheme));
    if (strcmp(scheme, "auto") != 0) HU_TRY(hu_scheme_parse(scheme, &precision->scheme));
    HU_TRY(read_rules(config, precision));
    HU_TRY(read_operands(config, precision));
    HU_TRY(read_scaling(config, precision));
done:
    return st;
}

/* A phase of a list by epoch. Keys of a plan file (its tensors, its loss scaling) are those of a
 * whole training. */
static hu_status read_phase(void *context, const char *name, hu_precision *precision) {
    if (hu_is_plan_path(name))
        return hu_fail(HU_ERR_ARGUMENT,
                       "found the plan file '%s', expected a precision by its name: a plan file is "
                       "that of a whole training, precision=%s",
                       name, name);
    return read_one(context, name, precision);
}

/* The list of phases becomes the name of the precision: tables and pictures call the run by it. A
 * name that is given beside it must be the same one, as in the configuration of a resumed run. */
static hu_status name_phases(hu_config *config, const char *list, const hu_precision *precision) {
    hu_status st = HU_OK;
    const char *name;
    HU_TRY(hu_config_set(config, "precision.name", precision->name, "precision.epochs"));
    HU_TRY(hu_config_text(config, "precision.name", &name));
    if (strcmp(name, precision->name) != 0)
        return hu_fail(
            HU_ERR_ARGUMENT,
            "precision: found '%s' beside precision.epochs '%s', expected one of the two", name,
            list);
done:
    return st;
}

/* One precision, or several that follow each other by epoch, in either of two spellings. */

/* A list of phases is read from its own key, or from the name. */
static hu_status read_precision(hu_config *config, hu_precision *precision) {
    hu_status st = HU_OK;
    const char *name;
    char list[LIST_BYTES];
    HU_TRY(hu_config_text(config, "precision.name", &name));
    HU_TRY(hu_options_join(config, "precision.epochs", list, sizeof list));
    if (list[0]) {
        HU_TRY(hu_precision_parse_list(list, read_phase, config, precision));
        HU_TRY(name_phases(config, list, precision));
    } else if (hu_precision_is_list(name)) {
        HU_TRY(hu_precision_parse_list(name, read_phase, config, precision));
    } else {
        HU_TRY(read_one(config, name, precision));
    }
    HU_TRY(check_listed(config, precision));
    HU_TRY(check_lee(config, precision));
    HU_TRY(options_check_bits(config, precision));
done:
    return st;
}

/* The accumulator of all products, then the rules in their order, later ones winning. */

/* Semantics first: they hold for the choice and for every rule. */
static hu_status read_accumulators(hu_config *config, hu_accumulators *accumulators) {
    hu_status st = HU_OK;
    const char *name, *word;
    const hu_keys *rules;
    hu_semantics semantics;
    HU_TRY(hu_config_text(config, "accumulator.semantics", &word));
    HU_TRY(hu_semantics_parse(word, &semantics));
    HU_TRY(hu_config_text(config, "accumulator.name", &name));
    HU_TRY(hu_accumulators_parse(name, semantics, accumulators));
    HU_TRY(hu_config_list(config, "accumulator.rules", &rules));
    for (size_t i = 0; i < hu_keys_count(rules); i++)
        HU_TRY(
            hu_accumulators_add_rule(accumulators, hu_keys_value(hu_keys_at(rules, i)), semantics));
    HU_TRY(hu_config_i64(config, "accumulator.count_every", &accumulators->count_every));
done:
    return st;
}

void hu_options_tell_names(const hu_config *config, const hu_graph *graph,
                           const hu_listener *listener) {
    const char *names;
    char here[32];
    snprintf(here, sizeof here, "xxh64:%016llx", (unsigned long long)hu_resolved_names_hash(graph));
    if (hu_config_text(config, "precision.names", &names) != HU_OK) return;
    if (strcmp(names, "none") == 0 || strcmp(names, here) == 0) return;
    hu_listener_tell(listener,
                     "the plan was made for tensor names of hash %s, this model's have %s: tensors "
                     "that it does not name stay float32",
                     names, here);
}

/* A recipe of one paper with a precision of another: formats, loss scaling and evaluation are the
 * name's, the rounding points are those of the key. */
static void tell_scheme(const hu_config *config, const hu_precision *precision,
                        const hu_listener *listener) {
    hu_precision alone = {0};
    const char *scaler = "none";
    bool has_name = !precision->is_resolved && precision->phase_count == 0;
    if (!has_name || hu_precision_parse(precision->name, &alone) != HU_OK) return;
    bool rounds = alone.assignment.kind || hu_widest_role(alone.role) > 0;
    hu_config_text(config, "scaler.name", &scaler);
    if (rounds && !alone.bits.schedule && alone.scheme != precision->scheme)
        hu_listener_tell(
            listener,
            "precision '%s' alone rounds as in the scheme %s; here precision.scheme=%s "
            "says where, with loss scaling %s",
            precision->name, hu_scheme_name(alone.scheme), hu_scheme_name(precision->scheme),
            scaler);
    hu_precision_free(&alone);
}

/* Which operations unit scaling leaves as they are. */
static void tell_scaling(const hu_precision *precision, const hu_graph *graph,
                         const hu_listener *listener) {
    char text[LIST_BYTES];
    if (precision->scaling != HU_SCALING_UNIT) return;
    hu_unit_scaling_without_rule(graph, text, sizeof text);
    if (text[0])
        hu_listener_tell(listener, "unit scaling has no rule for %s: they stay as they are", text);
}

void hu_options_tell_precision(const hu_config *config, const hu_precision *precision,
                               const hu_graph *graph, const hu_edge_table *edges,
                               const hu_listener *listener) {
    tell_scheme(config, precision, listener);
    tell_scaling(precision, graph, listener);
    bool is_one = precision->promotes && precision->phase_count == 0;
    if (is_one && !hu_precision_can_promote(precision, graph, edges))
        hu_listener_tell(listener,
                         "warning: precision '%s' can never promote: no forward tensor has fewer "
                         "bits than precision.high",
                         precision->name);
}

hu_status hu_options_precision(hu_config *config, hu_precision *precision) {
    hu_status st = HU_OK;
    HU_TRY(read_precision(config, precision));
    HU_TRY(read_accumulators(config, &precision->accumulators));
done:
    return st;
}
