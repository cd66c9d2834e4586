/* session/precision.c - from the keys precision.* and accumulator.* to their records. Words that
 * nothing would read are errors: a list of low tensors without "listed", tensors without
 * "resolved". */
#include "session/precision.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "precision/resolved_plan.h"
#include "session/bits.h"
#include "session/join.h"

enum { LIST_BYTES = 1024 };

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
        HU_TRY(hu_rounding_parse(rounding, &mode));
        HU_TRY(hu_precision_set_rounding(precision, mode));
    }
    HU_TRY(hu_config_list(config, "precision.rules", &rules));
    for (size_t i = 0; i < hu_keys_count(rules); i++)
        HU_TRY(hu_precision_add_rule(precision, hu_keys_value(hu_keys_at(rules, i))));
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
    HU_TRY(hu_options_check_bits(config, precision));
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

void hu_options_tell_precision(const hu_config *config, const hu_precision *precision,
                               const hu_graph *graph, const hu_edge_table *edges,
                               const hu_listener *listener) {
    tell_scheme(config, precision, listener);
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
