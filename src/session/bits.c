#include "session/bits.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "precision/bit_accounting.h"
#include "session/join.h"

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

hu_status hu_options_bits(const hu_config *config, hu_bits *bits) {
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

hu_status hu_options_check_bits(const hu_config *config, const hu_precision *precision) {
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
