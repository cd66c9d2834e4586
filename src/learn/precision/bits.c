/* Texts of bits. */
#include "precision/bits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "precision/rules.h"

/* A whole number at *text, which moves after it; false if there is none. */
static bool read_number(const char **text, int64_t *number) {
    enum { DIGITS_MOST = 15 };
    size_t digits = strspn(*text, "0123456789");
    if (digits == 0 || digits > DIGITS_MOST) return false;
    *number = strtoll(*text, NULL, 10);
    *text += digits;
    return true;
}

static hu_status check_bits(int64_t b) {
    if (b >= HU_BITS_LEAST && b <= HU_BITS_MOST) return HU_OK;
    return hu_fail(HU_ERR_ARGUMENT, "found %lld bits, expected %d to %d", (long long)b,
                   HU_BITS_LEAST, HU_BITS_MOST);
}

hu_status hu_bits_parse_range(const char *text, hu_bits_range *range) {
    hu_status st = HU_OK;
    const char *at = text;
    int64_t least = 0, most;
    bool is_read = read_number(&at, &least);
    most = least;
    if (is_read && *at == '-') {
        at++;
        is_read = read_number(&at, &most);
    }
    if (!is_read || *at)
        return hu_fail(HU_ERR_PARSE, "found '%.40s', expected bits like 8 or 4-8", text);
    HU_TRY(check_bits(least));
    HU_TRY(check_bits(most));
    if (least > most)
        return hu_fail(HU_ERR_ARGUMENT, "found %lld-%lld, which is empty; expected %lld-%lld",
                       (long long)least, (long long)most, (long long)most, (long long)least);
    *range = (hu_bits_range){(uint32_t)least, (uint32_t)most};
done:
    return st;
}

hu_status hu_bits_parse_gradient(const char *text, hu_bits *bits) {
    bits->gradient_follows = strcmp(text, "same") == 0;
    if (bits->gradient_follows) return HU_OK;
    hu_status st = hu_bits_parse_range(text, &bits->gradient);
    return st == HU_OK ? st : hu_fail_within(st, "bits.grad: ");
}

hu_status hu_bits_parse_gradient_of_weights(const char *text, hu_bits *bits) {
    hu_bits_range range = {0};
    bool is_float = strcmp(text, "float") == 0;
    bits->gradient_of_weights = is_float ? HU_BITS_FLOAT32 : 0;
    if (is_float || strcmp(text, "same") == 0) return HU_OK;
    if (strchr(text, '-') || hu_bits_parse_range(text, &range) != HU_OK)
        return hu_fail(HU_ERR_ARGUMENT,
                       "bits.grad_weights: found '%.40s', expected same, float or %d to %d bits",
                       text, HU_BITS_LEAST, HU_BITS_MOST);
    bits->gradient_of_weights = range.most;
    return HU_OK;
}

hu_status hu_bits_parse_list(const char *text, uint32_t most, uint8_t *list, uint32_t *count) {
    hu_status st = HU_OK;
    const char *at = text + strspn(text, " ,");
    for (*count = 0; *at; at += strspn(at, " ,")) {
        int64_t b;
        if (!read_number(&at, &b) || (*at && *at != ' ' && *at != ','))
            return hu_fail(HU_ERR_PARSE, "found '%.40s', expected bits like 4 6 8", text);
        HU_TRY(check_bits(b));
        if (*count == most)
            return hu_fail(HU_ERR_ARGUMENT, "found '%.40s', expected at most %u numbers", text,
                           most);
        list[(*count)++] = (uint8_t)b;
    }
done:
    return st;
}

static hu_bits_range range_of(const uint8_t *list, uint32_t count) {
    hu_bits_range range = {HU_BITS_MOST, HU_BITS_LEAST};
    for (uint32_t i = 0; i < count; i++) {
        if (list[i] < range.least) range.least = list[i];
        if (list[i] > range.most) range.most = list[i];
    }
    return range;
}

hu_status hu_bits_parse_set(const char *text, hu_bits *bits) {
    hu_status st = hu_bits_parse_list(text, HU_BITS_SET_MOST, bits->set, &bits->set_count);
    if (st != HU_OK) return hu_fail_within(st, "bits.set: ");
    if (bits->set_count == 0)
        return hu_fail(HU_ERR_ARGUMENT, "bits.set: found no bits, expected some, as in 4,6,8");
    bits->forward = range_of(bits->set, bits->set_count);
    return HU_OK;
}

/* Moments ascend from 0, so that every step has bits. */
static hu_status check_order(const hu_bits *bits, int64_t from) {
    int64_t last = bits->stage_count ? bits->stage[bits->stage_count - 1].from : -1;
    if (bits->stage_count == 0 && from != 0)
        return hu_fail(HU_ERR_ARGUMENT, "bits.stages: found %lld first, expected 0",
                       (long long)from);
    if (from <= last)
        return hu_fail(HU_ERR_ARGUMENT, "bits.stages: found %lld behind %lld, expected a later one",
                       (long long)from, (long long)last);
    return HU_OK;
}

hu_status hu_bits_add_stage(hu_bits *bits, const char *text) {
    hu_status st = HU_OK;
    hu_bits_stage stage;
    const char *at = text + strspn(text, " ");
    if (!read_number(&at, &stage.from) || *(at += strspn(at, " ")) != ':')
        return hu_fail(HU_ERR_PARSE,
                       "bits.stages: found '%.60s', expected FROM: BITS, as in 30: 6 8 4", text);
    HU_TRY(check_order(bits, stage.from));
    if (bits->stage_count == HU_BITS_STAGES_MOST)
        return hu_fail(HU_ERR_ARGUMENT, "bits.stages: expected at most %d", HU_BITS_STAGES_MOST);
    st = hu_bits_parse_list(at + 1, HU_BITS_BLOCKS_MOST, stage.bits, &stage.count);
    if (st != HU_OK) return hu_fail_within(st, "bits.stages: ");
    if (stage.count == 0)
        return hu_fail(HU_ERR_PARSE, "bits.stages: found '%.60s', expected bits behind the colon",
                       text);
    hu_bits_range range = range_of(stage.bits, stage.count);
    bool is_first = bits->stage_count == 0;
    if (is_first || range.least < bits->forward.least) bits->forward.least = range.least;
    if (is_first || range.most > bits->forward.most) bits->forward.most = range.most;
    bits->stage[bits->stage_count++] = stage;
done:
    return st;
}

void hu_bits_name(hu_bits_kind kind, uint32_t exponent_bits, uint32_t b, char *text) {
    if (b >= HU_BITS_FLOAT32)
        snprintf(text, HU_BITS_NAME_BYTES, "fp32");
    else if (kind == HU_BITS_INTEGER)
        snprintf(text, HU_BITS_NAME_BYTES, "int%u", b);
    else
        snprintf(text, HU_BITS_NAME_BYTES, "e%um%d", exponent_bits,
                 (int)b - 1 - (int)exponent_bits);
}

static hu_status add_rule(hu_bits *bits, const hu_rule *rule, const char *choice) {
    hu_bits_rule *made = &bits->rule[bits->rule_count];
    hu_status st = HU_OK;
    if (bits->rule_count == HU_BITS_RULES_MOST)
        return hu_fail(HU_ERR_LIMIT, "found more than %d rules", HU_BITS_RULES_MOST);
    if (strlen(rule->pattern) >= HU_BITS_PATTERN_BYTES)
        return hu_fail(HU_ERR_LIMIT, "rule '%s': expected a name of at most %d characters",
                       rule->text, HU_BITS_PATTERN_BYTES - 1);
    snprintf(made->pattern, sizeof made->pattern, "%s", rule->pattern);
    made->bounds = (hu_bits_range){HU_BITS_FLOAT32, HU_BITS_FLOAT32};
    if (strcmp(choice, "float") != 0) st = hu_bits_parse_range(choice, &made->bounds);
    if (st != HU_OK) return hu_fail_within(st, "rule '%s': ", rule->text);
    bits->rule_count++;
    return HU_OK;
}

hu_status hu_bits_add_rule(hu_bits *bits, const char *text) {
    hu_rule rule;
    const char *choice;
    hu_status st = hu_rule_read(text, "LAYER: 4, LAYER: 4-6 or LAYER: float", &rule, &choice);
    if (st == HU_OK) {
        st = add_rule(bits, &rule, choice);
        hu_rule_free(&rule);
    }
    return st == HU_OK ? st : hu_fail_within(st, "bits.layers: ");
}

/* A rule may hold a layer above or below what the schedule gives. */
hu_bits_range hu_bits_covered(const hu_bits *bits) {
    hu_bits_range covered = bits->forward;
    for (uint32_t i = 0; i < bits->rule_count; i++) {
        const hu_bits_range *bounds = &bits->rule[i].bounds;
        if (bounds->least == HU_BITS_FLOAT32) continue;
        if (bounds->least > covered.most) covered.most = bounds->least;
        if (bounds->most < covered.least) covered.least = bounds->most;
    }
    return covered;
}
