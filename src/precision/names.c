/* Named precisions and the texts that users write. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/nearest.h"
#include "base/words.h"
#include "precision/plan.h"

typedef struct named_precision {
    const char *name;
    hu_scheme scheme;
    const char *format[HU_ROLE_COUNT]; /* act, act.grad, weight, weight.grad; NULL: float32 */
    hu_scaler_default scaler;
    bool epoch_interval, eval_masters;
} named_precision;

#define ROLES(act, act_grad, weight, weight_grad)                                                  \
    { act, act_grad, weight, weight_grad }
#define LEE_LOW ROLES("fp(4,3,4)", "fp(5,2,0)", "fp(4,3,4)", "fp(6,9,0)")
#define LEE_HIGH SAME("fp(6,9,0)")
#define SAME(format) ROLES(format, format, format, format)

/* X(name, scheme, formats by role, scaling, growth interval of an epoch, evaluation with masters).
 * The one list of named precisions. */
#define PRECISION_LIST(X)                                                                          \
    X("fp32", LEE, ROLES(NULL, NULL, NULL, NULL), NONE, false, true)                               \
    X("fp16", MICIKEVICIUS, SAME("fp16"), DYNAMIC, false, false)                                   \
    X("bf16", MICIKEVICIUS, SAME("bf16"), NONE, false, false)                                      \
    X("1/6/9/d", POPESCU, SAME("1/6/9/d"), NONE, false, false)                                     \
    X("1/6/9/n", POPESCU, SAME("1/6/9/n"), NONE, false, false)                                     \
    X("1/6/9", POPESCU, SAME("1/6/9/d"), NONE, false, false)                                       \
    X("high", LEE, LEE_HIGH, DYNAMIC, true, true)                                                  \
    X("hfp8", LEE, LEE_LOW, DYNAMIC, true, true)                                                   \
    X("uniform", LEE, LEE_LOW, DYNAMIC, true, true)

static const named_precision table[] = {
#define PRECISION_ROW(name, scheme, formats, scaler, epoch, masters)                               \
    {name, HU_SCHEME_##scheme, formats, HU_SCALER_##scaler, epoch, masters},
    PRECISION_LIST(PRECISION_ROW)
#undef PRECISION_ROW
};
enum { TABLE_COUNT = sizeof table / sizeof *table };

const char *const hu_precision_names[] = {
#define PRECISION_NAME(name, scheme, formats, scaler, epoch, masters) name,
    PRECISION_LIST(PRECISION_NAME)
#undef PRECISION_NAME
};
const int hu_precision_name_count = TABLE_COUNT;

static const char *const scheme_names[] = {"lee", "popescu", "micikevicius"};

const char *hu_scheme_name(hu_scheme scheme) {
    return scheme_names[scheme];
}

hu_status hu_scheme_parse(const char *text, hu_scheme *scheme) {
    for (int i = 0; i < HU_SCHEME_COUNT; i++) {
        if (strcmp(text, scheme_names[i]) != 0) continue;
        *scheme = (hu_scheme)i;
        return HU_OK;
    }
    return hu_fail(HU_ERR_UNKNOWN, "scheme '%s', expected lee, popescu or micikevicius", text);
}

static hu_status use_row(const named_precision *row, hu_precision *precision) {
    precision->scheme = row->scheme;
    precision->scaler = row->scaler;
    precision->scaler_epoch_interval = row->epoch_interval;
    precision->eval_masters = row->eval_masters;
    for (int r = 0; r < HU_ROLE_COUNT; r++) {
        if (!row->format[r]) continue;
        hu_status st = hu_quantizer_parse(row->format[r], precision->rounding, &precision->role[r]);
        if (st != HU_OK) return st;
    }
    return HU_OK;
}

/* "w=F,act=F,grad=F,wgrad=F" in any order; commas inside parentheses belong to the format. */
static hu_status parse_roles(const char *text, hu_precision *precision) {
    static const struct {
        const char *key;
        hu_role role;
    } keys[] = {{"w=", HU_ROLE_WEIGHT},
                {"act=", HU_ROLE_ACT},
                {"grad=", HU_ROLE_ACT_GRAD},
                {"wgrad=", HU_ROLE_WEIGHT_GRAD}};
    char part[HU_SPEC_BYTES];
    for (const char *at = text; *at;) {
        size_t length = hu_word_length(at);
        hu_role role = HU_ROLE_COUNT;
        size_t skip = 0;
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
            if (strncmp(at, keys[k].key, strlen(keys[k].key)) != 0) continue;
            role = keys[k].role;
            skip = strlen(keys[k].key);
        }
        if (role == HU_ROLE_COUNT || length - skip >= sizeof part)
            return hu_fail(HU_ERR_PARSE,
                           "precision '%s', column %d: expected w=, act=, grad= or wgrad=", text,
                           (int)(at - text) + 1);
        memcpy(part, at + skip, length - skip);
        part[length - skip] = '\0';
        hu_status st = hu_quantizer_parse(part, precision->rounding, &precision->role[role]);
        if (st != HU_OK)
            return hu_fail_within(st, "precision '%s', column %d: ", text, (int)(at - text) + 1);
        at += length;
        if (*at == ',' && !*++at)
            return hu_fail(HU_ERR_PARSE, "precision '%s': expected another role after the comma",
                           text);
    }
    precision->scheme = HU_SCHEME_LEE;
    precision->eval_masters = true;
    return HU_OK;
}

static hu_status unknown(const char *text) {
    char nearest[256], reason[1024];
    snprintf(reason, sizeof reason, "%s", hu_last_error());
    hu_nearest(text, hu_precision_names, (size_t)hu_precision_name_count, nearest, sizeof nearest);
    return hu_fail(
        HU_ERR_UNKNOWN,
        "precision '%s' is neither a named precision (nearest: %s) nor a number format (%s)", text,
        nearest, reason);
}

static hu_status parse_name(const char *text, hu_precision *precision) {
    hu_status st = HU_OK;
    for (int i = 0; i < TABLE_COUNT; i++)
        if (strcmp(text, table[i].name) == 0) return use_row(&table[i], precision);
    if (strchr(text, '=') && (strncmp(text, "w=", 2) == 0 || strncmp(text, "act=", 4) == 0 ||
                              strncmp(text, "grad=", 5) == 0 || strncmp(text, "wgrad=", 6) == 0))
        return parse_roles(text, precision);
    hu_quantizer everywhere;
    st = hu_quantizer_parse(text, precision->rounding, &everywhere);
    if (st == HU_ERR_UNKNOWN || (st == HU_ERR_PARSE && !strchr(text, ':'))) return unknown(text);
    if (st != HU_OK) return hu_fail_within(st, "precision '%s': ", text);
    precision->scheme = HU_SCHEME_POPESCU;
    for (int r = 0; r < HU_ROLE_COUNT; r++) precision->role[r] = everywhere;
    return HU_OK;
}

hu_status hu_precision_parse(const char *text, hu_precision *precision) {
    *precision = (hu_precision){0};
    snprintf(precision->name, sizeof precision->name, "%s", text);
    hu_status st = parse_name(text, precision);
    if (st != HU_OK) *precision = (hu_precision){0};
    return st;
}

hu_status hu_precision_add_rule(hu_precision *precision, const char *text) {
    hu_status st = HU_OK;
    hu_precision_rule rule = {0};
    text += strspn(text, " ");
    const char *colon = strchr(text, ':');
    if (!colon || colon == text)
        return hu_fail(HU_ERR_PARSE, "rule '%s': expected 'PATTERN: FORMAT'", text);
    size_t length = (size_t)(colon - text);
    while (text[length - 1] == ' ') length--;
    st = hu_quantizer_parse(colon + 1 + strspn(colon + 1, " "), precision->rounding,
                            &rule.quantizer);
    if (st != HU_OK) return hu_fail_within(st, "rule '%s': ", text);
    void *array = precision->rules;
    HU_TRY(hu_realloc(&array, (precision->rule_count + 1) * sizeof *precision->rules));
    precision->rules = array;
    HU_TRY(hu_strdup(text, &rule.text));
    HU_TRY(hu_strndup(text, length, &rule.pattern));
    precision->rules[precision->rule_count++] = rule;
    return HU_OK;
done:
    hu_free(rule.text);
    return st;
}

void hu_precision_set_rounding(hu_precision *precision, hu_rounding rounding) {
    precision->rounding = rounding;
    for (int r = 0; r < HU_ROLE_COUNT; r++) precision->role[r].rounding = rounding;
}

void hu_precision_free(hu_precision *precision) {
    for (uint32_t r = 0; r < precision->rule_count; r++) {
        hu_free(precision->rules[r].text);
        hu_free(precision->rules[r].pattern);
    }
    hu_free(precision->rules);
    hu_accumulators_free(&precision->accumulators);
    precision->rules = NULL;
    precision->rule_count = 0;
}
