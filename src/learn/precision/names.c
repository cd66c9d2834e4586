#include "precision/internal.h"
#include "precision/precision.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "format/draft.h"
#include "precision/bits.h"

typedef struct named_precision {
    const char *name;
    hu_scheme scheme;
    const char *format[HU_ROLE_COUNT]; /* act, act.grad, weight, weight.grad; NULL: float32 */
    hu_scaler_default scaler;
    bool epoch_interval, eval_masters;
    const char *recipe; /* how products round what they multiply, NULL: not at all */
    const char *help;   /* of a recipe */
} named_precision;

#define ROLES(act, act_grad, weight, weight_grad)                                                  \
    { act, act_grad, weight, weight_grad }
#define SAME(format) ROLES(format, format, format, format)

/* Recipes: operands of every layer, later ones winning, and the layers that stay high. Sources:
 * DeepSeek-V3, arXiv 2412.19437, section 3.3, scales as in DeepGEMM; TransformerEngine's
 * NVFP4BlockScaling (NVIDIA, arXiv 2509.25149, section 4), MXFP8BlockScaling and DelayedScaling. */
#define DEEPSEEK_FP8                                                                               \
    "*: e4m3fn:tile=1x128:scale=f32:least=1e-4; *.w: e4m3fn:tile=128x128:scale=f32:least=1e-4; "   \
    "high last=1"
#define NVFP4_TE                                                                                   \
    "*.x: nvfp4:as=te; *.w: nvfp4:tile=16x16:as=te; *.dy: nvfp4:as=te sr; "                        \
    "weight_grad.x: nvfp4:as=te:hadamard=16; weight_grad.dy: nvfp4:as=te:hadamard=16 sr; "         \
    "high last=15%"
#define MXFP8_TE "*: mxfp8:scale=rceil; high last=1"
#define FP8_DELAYED_TE                                                                             \
    "x: e4m3fn:scale=real1024; w: e4m3fn:scale=real1024; dy: e5m2:scale=real1024; high last=1"

/* Unit scaling: Blake, Orr and Luschi, arXiv 2303.11257: E4M3 forward, E5M2 backward,
 * without scales. */
#define UNIT_SCALING                                                                               \
    "scaling unit; *.x: e4m3fn:ovf=sat; *.w: e4m3fn:ovf=sat; *.dy: e5m2:ovf=sat; high last=1"

/* What they are, in one line. */
#define DEEPSEEK_FP8_IS                                                                            \
    "DeepSeek-V3: E4M3 everywhere, float32 scales of 1x128 numbers and of 128x128 weights"
#define NVFP4_TE_IS                                                                                \
    "NVIDIA's FP4: 16 numbers share a scale, 16x16 weights; gradients stochastic, rotated for "    \
    "the weights' gradient"
#define MXFP8_TE_IS "MXFP8, scales rounded up so that nothing saturates"
#define FP8_DELAYED_TE_IS                                                                          \
    "E4M3 forward, E5M2 backward, one scale a tensor from the maxima of 1,024 steps"
#define UNIT_SCALING_IS                                                                            \
    "E4M3 forward, E5M2 backward, no scales: the network keeps its numbers near 1"

/* X(name, scheme, formats by role, scaling, growth interval of an epoch, evaluation with masters,
 * recipe, its help). The one list of named precisions. */
#define PRECISION_LIST(X)                                                                          \
    X("fp32", LEE, SAME(NULL), NONE, false, true, NULL, NULL)                                      \
    X("fp16", MICIKEVICIUS, SAME("fp16"), DYNAMIC, false, false, NULL, NULL)                       \
    X("bf16", MICIKEVICIUS, SAME("bf16"), NONE, false, false, NULL, NULL)                          \
    X("1/6/9/d", POPESCU, SAME("1/6/9/d"), NONE, false, false, NULL, NULL)                         \
    X("1/6/9/n", POPESCU, SAME("1/6/9/n"), NONE, false, false, NULL, NULL)                         \
    X("1/6/9", POPESCU, SAME("1/6/9/d"), NONE, false, false, NULL, NULL)                           \
    X("deepseek-fp8", MICIKEVICIUS, SAME(NULL), NONE, false, true, DEEPSEEK_FP8, DEEPSEEK_FP8_IS)  \
    X("nvfp4-te", MICIKEVICIUS, SAME(NULL), NONE, false, true, NVFP4_TE, NVFP4_TE_IS)              \
    X("mxfp8-te", MICIKEVICIUS, SAME(NULL), NONE, false, true, MXFP8_TE, MXFP8_TE_IS)              \
    X("fp8-delayed-te", MICIKEVICIUS, SAME(NULL), NONE, false, false, FP8_DELAYED_TE,              \
      FP8_DELAYED_TE_IS)                                                                           \
    X("unit-scaling", MICIKEVICIUS, SAME(NULL), NONE, false, true, UNIT_SCALING, UNIT_SCALING_IS)

static const named_precision table[] = {
#define PRECISION_ROW(name, scheme, formats, scaler, epoch, masters, recipe, help)                 \
    {name, HU_SCHEME_##scheme, formats, HU_SCALER_##scaler, epoch, masters, recipe, help},
    PRECISION_LIST(PRECISION_ROW)
#undef PRECISION_ROW
};
enum { TABLE_COUNT = sizeof table / sizeof *table };

const char *const hu_precision_names[] = {
#define PRECISION_NAME(name, scheme, formats, scaler, epoch, masters, recipe, help) name,
    PRECISION_LIST(PRECISION_NAME)
#undef PRECISION_NAME
        "high",
    "uniform",
    "hfp8",
    "operator",
    "operator-out",
    "demote:0.6",
    "listed",
    "static:8",
    "cpt:4-8",
    "pfq:3-8",
    "ldp:3-8",
    "random",
    "staged"};
const int hu_precision_name_count = sizeof hu_precision_names / sizeof *hu_precision_names;

const char *hu_recipe_at(size_t index, const char **help, const char **parts) {
    for (size_t i = 0; i < TABLE_COUNT; i++) {
        if (!table[i].recipe || index-- > 0) continue;
        *help = table[i].help;
        *parts = table[i].recipe;
        return table[i].name;
    }
    return NULL;
}

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

/* One part of a recipe: "high LAYERS", "scaling KIND" or a rule. */
static hu_status use_part(const char *text, hu_precision *precision) {
    static const char high[] = "high ", scaling[] = "scaling ";
    if (strncmp(text, high, sizeof high - 1) == 0)
        return hu_operand_choices_add_high(&precision->operands, text + sizeof high - 1);
    if (strncmp(text, scaling, sizeof scaling - 1) == 0)
        return hu_scaling_parse(text + sizeof scaling - 1, &precision->scaling);
    return hu_operand_choices_set(&precision->operands, text);
}

static hu_status use_recipe(const char *recipe, hu_precision *precision) {
    char part[HU_SPEC_BYTES];
    hu_status st = HU_OK;
    while (*recipe && st == HU_OK) {
        size_t length = strcspn(recipe, ";");
        snprintf(part, sizeof part, "%.*s", (int)length, recipe);
        st = use_part(part, precision);
        recipe += length + (recipe[length] == ';');
        recipe += strspn(recipe, " ");
    }
    if (st != HU_OK) hu_operand_choices_free(&precision->operands);
    return st;
}

/* Formats of the table are texts: read once, here, like those of a user. */
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
    return row->recipe ? use_recipe(row->recipe, precision) : HU_OK;
}

/* "w=F,act=F,grad=F,wgrad=F" in any order; commas inside parentheses belong to the format. */
static hu_status parse_roles(const char *text, hu_rounding usual, hu_quantizer *roles) {
    char part[HU_SPEC_BYTES];
    for (const char *at = text; *at;) {
        size_t length = hu_list_word_length(at);
        hu_role role = HU_ROLE_COUNT;
        size_t skip = 0;
        for (size_t k = 0; k < HU_ROLE_COUNT; k++) {
            if (strncmp(at, hu_role_keys[k].key, strlen(hu_role_keys[k].key)) != 0) continue;
            role = hu_role_keys[k].role;
            skip = strlen(hu_role_keys[k].key);
        }
        if (role == HU_ROLE_COUNT || length - skip >= sizeof part)
            return hu_fail(HU_ERR_PARSE,
                           "precision '%s', column %d: expected w=, act=, grad= or wgrad=", text,
                           (int)(at - text) + 1);
        memcpy(part, at + skip, length - skip);
        part[length - skip] = '\0';
        hu_status st = hu_quantizer_parse(part, usual, &roles[role]);
        if (st != HU_OK)
            return hu_fail_within(st, "precision '%s', column %d: ", text, (int)(at - text) + 1);
        at += length;
        if (*at == ',' && !*++at)
            return hu_fail(HU_ERR_PARSE, "precision '%s': expected another role after the comma",
                           text);
    }
    return HU_OK;
}

static bool names_roles(const char *text) {
    return strncmp(text, "w=", 2) == 0 || strncmp(text, "act=", 4) == 0 ||
           strncmp(text, "grad=", 5) == 0 || strncmp(text, "wgrad=", 6) == 0;
}

static hu_status unknown(const char *text) {
    char nearest[256], reason[1024];
    const char *meant = hu_format_meant(text);
    if (meant)
        return hu_fail(HU_ERR_UNKNOWN, "precision '%s' is unknown, expected %s", text, meant);
    snprintf(reason, sizeof reason, "%s", hu_last_error());
    hu_nearest(text, hu_precision_names, (size_t)hu_precision_name_count, nearest, sizeof nearest);
    return hu_fail(
        HU_ERR_UNKNOWN,
        "precision '%s' is neither a named precision (nearest: %s) nor a number format (%s); "
        "formats are written e3m4 (exponent and mantissa bits) or uniform8 (integers), see "
        "`halfulp help formats`",
        text, nearest, reason);
}

/* An assignment trains like Lee et al.: dynamic loss scaling that grows after an epoch, evaluation
 * with the masters. */
static hu_status use_assignment(hu_precision *precision) {
    precision->scheme = HU_SCHEME_LEE;
    precision->scaler = HU_SCALER_DYNAMIC;
    precision->scaler_epoch_interval = precision->eval_masters = true;
    memcpy(precision->role, precision->high, sizeof precision->role);
    return HU_OK;
}

/* Whether normal numbers of the format end before those of 1/6/9 at either side. A scale from
 * maxima, of a tensor or a block, moves the range along. */
static bool is_narrower(const hu_quantizer *quantizer, const hu_format_limits *wide) {
    if (quantizer->kind != HU_QUANTIZER_FLOAT || quantizer->scale != HU_SCALE_NONE) return false;
    hu_format_limits limits = hu_format_limits_of(&quantizer->format);
    return limits.emin > wide->emin || limits.emax < wide->emax;
}

/* Gradients of a narrow range get Lee et al.'s loss scaling, however the formats were spelled. */
static hu_status choose_scaler(hu_precision *precision) {
    hu_format wide;
    hu_status st = hu_format_parse("1/6/9", &wide);
    if (st != HU_OK) return st;
    const hu_format_limits limits = hu_format_limits_of(&wide);
    if (!is_narrower(&precision->role[HU_ROLE_ACT_GRAD], &limits) &&
        !is_narrower(&precision->role[HU_ROLE_WEIGHT_GRAD], &limits))
        return HU_OK;
    precision->scaler = HU_SCALER_DYNAMIC;
    precision->scaler_epoch_interval = true;
    return HU_OK;
}

/* Formats by role train like Lee et al.'s pairs. */
static hu_status use_roles(const char *text, hu_precision *precision) {
    precision->scheme = HU_SCHEME_LEE;
    precision->eval_masters = true;
    hu_status st = parse_roles(text, precision->rounding, precision->role);
    return st == HU_OK ? choose_scaler(precision) : st;
}

/* A schedule gives all formats; there is nothing high to go to. */
static hu_status refuse_promotion(const hu_precision *precision) {
    if (!precision->promotes) return HU_OK;
    return hu_fail(HU_ERR_PARSE, "precision '%s': found +promote with a schedule of bits",
                   precision->name);
}

static hu_status parse_name(const char *text, hu_precision *precision) {
    hu_status st = HU_OK;
    bool found;
    if (strcmp(text, "resolved") == 0) {
        precision->is_resolved = true;
        return HU_OK;
    }
    for (int i = 0; i < TABLE_COUNT; i++)
        if (strcmp(text, table[i].name) == 0) return use_row(&table[i], precision);
    if (names_roles(text)) return use_roles(text, precision);
    st = hu_assignment_parse(text, &precision->assignment, &found);
    if (st != HU_OK) return hu_fail_within(st, "precision '%s': ", text);
    if (found) return use_assignment(precision);
    st = hu_bits_parse(text, &precision->bits, &found);
    if (st != HU_OK) return hu_fail_within(st, "precision '%s': ", text);
    if (found) return refuse_promotion(precision);
    hu_quantizer everywhere;
    st = hu_quantizer_parse(text, precision->rounding, &everywhere);
    if (st == HU_ERR_UNKNOWN || (st == HU_ERR_PARSE && !strchr(text, ':'))) return unknown(text);
    if (st != HU_OK) return hu_fail_within(st, "precision '%s': ", text);
    precision->scheme = HU_SCHEME_POPESCU;
    for (int r = 0; r < HU_ROLE_COUNT; r++) precision->role[r] = everywhere;
    return HU_OK;
}

/* Lee et al.: 16 bits with 6 of exponent; 8 bits with another split forward and backward. */
static hu_status use_lee_candidates(hu_precision *precision) {
    return hu_precision_set_candidates(precision, "fp(6,9,0)",
                                       "w=fp(4,3,4),act=fp(4,3,4),grad=fp(5,2,0)");
}

/* "NAME" or "NAME+promote". */
static hu_status parse_parts(const char *text, hu_precision *precision) {
    static const char promote[] = "+promote";
    enum { PROMOTE = sizeof promote - 1 };
    char name[HU_SPEC_BYTES];
    size_t length = strlen(text);
    if (length >= PROMOTE && strcmp(text + length - PROMOTE, promote) == 0) {
        precision->promotes = true;
        length -= PROMOTE;
    }
    if (length >= sizeof name)
        return hu_fail(HU_ERR_PARSE,
                       "precision '%.40s...': found %zu characters, expected at most %d", text,
                       length, HU_SPEC_BYTES - 1);
    memcpy(name, text, length);
    name[length] = '\0';
    if (strcmp(name, "promote") == 0)
        return hu_fail(HU_ERR_PARSE, "precision 'promote': expected what is to be promoted before "
                                     "it, as in uniform+promote or demote:0.6+promote");
    return parse_name(name, precision);
}

/* The candidates come first: an assignment copies them into the roles. */
hu_status hu_precision_parse(const char *text, hu_precision *precision) {
    enum { PER_CENT = 100 };
    *precision = (hu_precision){.promote_at = 1.0 / PER_CENT};
    snprintf(precision->name, sizeof precision->name, "%s", text);
    hu_status st = use_lee_candidates(precision);
    if (st == HU_OK) st = parse_parts(text, precision);
    if (st != HU_OK) *precision = (hu_precision){0};
    return st;
}

/* FORMAT stands for all roles that a candidate of this kind has. */
static hu_status parse_candidate(const char *key, const char *text, hu_rounding usual, bool is_low,
                                 hu_quantizer *roles) {
    hu_quantizer parsed[HU_ROLE_COUNT] = {0};
    hu_status st;
    if (names_roles(text)) {
        st = parse_roles(text, usual, parsed);
    } else {
        st = hu_quantizer_parse(text, usual, &parsed[HU_ROLE_ACT]);
        parsed[HU_ROLE_ACT_GRAD] = parsed[HU_ROLE_WEIGHT] = parsed[HU_ROLE_ACT];
        if (!is_low) parsed[HU_ROLE_WEIGHT_GRAD] = parsed[HU_ROLE_ACT];
    }
    if (st != HU_OK) return hu_fail_within(st, "%s: ", key);
    memcpy(roles, parsed, sizeof parsed);
    return HU_OK;
}

uint32_t hu_widest_role(const hu_quantizer role[HU_ROLE_COUNT]) {
    uint32_t bits = 0;
    for (int r = 0; r < HU_ROLE_COUNT; r++)
        if (hu_quantizer_rounds(&role[r]) && hu_quantizer_bits(&role[r]) > bits)
            bits = hu_quantizer_bits(&role[r]);
    return bits;
}

/* Bits are compared role by role: a format that is low for weights may be high for gradients. */
hu_status hu_precision_set_candidates(hu_precision *precision, const char *high, const char *low) {
    hu_status st = HU_OK;
    hu_rounding usual = precision->rounding;
    if (high) HU_TRY(parse_candidate("precision.high", high, usual, false, precision->high));
    if (low) HU_TRY(parse_candidate("precision.low", low, usual, true, precision->low));
    if (precision->is_resolved) return HU_OK; /* nothing chooses between the two */
    if (precision->assignment.kind) HU_TRY(use_assignment(precision));
    if (hu_widest_role(precision->low) == 0)
        return hu_fail(HU_ERR_ARGUMENT, "precision.low: found '%s', expected fewer than 32 bits",
                       low);
    for (int r = 0; r < HU_ROLE_COUNT; r++) {
        const hu_quantizer *narrow = &precision->low[r], *wide = &precision->high[r];
        if (!hu_quantizer_rounds(narrow) || hu_quantizer_bits(narrow) < hu_quantizer_bits(wide))
            continue;
        return hu_fail(HU_ERR_ARGUMENT,
                       "precision.low: found %u bits for %s, expected fewer than the %u of "
                       "precision.high",
                       hu_quantizer_bits(narrow), hu_role_names[r], hu_quantizer_bits(wide));
    }
done:
    return st;
}

hu_status hu_precision_add_listed(hu_precision *precision, const char *text) {
    void *array = precision->listed;
    hu_status st = hu_realloc(&array, (precision->listed_count + 1) * sizeof *precision->listed);
    if (st != HU_OK) return st;
    precision->listed = array;
    st = hu_strdup(text, &precision->listed[precision->listed_count]);
    precision->listed_count += st == HU_OK;
    return st;
}

static void let_nan_overflow(hu_quantizer *quantizer) {
    if (quantizer->kind == HU_QUANTIZER_FLOAT && quantizer->format.specials == HU_SPECIALS_FIN)
        quantizer->format.nan = HU_NAN_OVERFLOWS;
}

hu_status hu_precision_add_rule(hu_precision *precision, const char *text) {
    hu_status st = HU_OK;
    hu_precision_rule rule = {0};
    const char *choice;
    HU_TRY(hu_rule_read(text, "PATTERN: FORMAT", &rule.words, &choice));
    st = hu_quantizer_parse(choice, precision->rounding, &rule.quantizer);
    if (st != HU_OK) HU_TRY(hu_fail_within(st, "rule '%s': ", rule.words.text));
    if (precision->is_lee) let_nan_overflow(&rule.quantizer);
    void *array = precision->rules;
    HU_TRY(hu_realloc(&array, (precision->rule_count + 1) * sizeof *precision->rules));
    precision->rules = array;
    precision->rules[precision->rule_count++] = rule;
    return HU_OK;
done:
    hu_rule_free(&rule.words);
    return st;
}

hu_status hu_precision_set_rounding(hu_precision *precision, hu_rounding rounding) {
    precision->rounding = rounding;
    for (int r = 0; r < HU_ROLE_COUNT; r++) {
        hu_quantizer *all[] = {&precision->role[r], &precision->high[r], &precision->low[r]};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
            if (!hu_quantizer_knows_mode(all[i], rounding))
                return hu_fail(HU_ERR_ARGUMENT,
                               "precision.rounding: found %s, expected rne or sr for the uniform "
                               "integers of role %s",
                               hu_rounding_name(rounding), hu_role_names[r]);
            all[i]->rounding = rounding;
        }
    }
    return HU_OK;
}

hu_status hu_precision_set_lee(hu_precision *precision) {
    if (precision->bits.schedule || precision->is_resolved)
        return hu_fail(HU_ERR_ARGUMENT,
                       "precision.compat: found lee with precision '%s', expected formats by name, "
                       "role or assignment",
                       precision->name);
    hu_status st = hu_precision_set_rounding(precision, HU_ROUND_NEAREST_AWAY);
    precision->is_lee = st == HU_OK;
    for (int r = 0; st == HU_OK && r < HU_ROLE_COUNT; r++) {
        let_nan_overflow(&precision->role[r]);
        let_nan_overflow(&precision->high[r]);
        let_nan_overflow(&precision->low[r]);
    }
    return st;
}

static bool has_lee(const hu_quantizer *quantizer) {
    return quantizer->kind == HU_QUANTIZER_FLOAT && quantizer->format.nan == HU_NAN_OVERFLOWS;
}

/* Candidates count where something chooses them. */
bool hu_precision_has_lee(const hu_precision *precision) {
    bool chooses = precision->assignment.kind || precision->promotes, any = false;
    for (int r = 0; r < HU_ROLE_COUNT; r++)
        any = any || has_lee(&precision->role[r]) ||
              (chooses && (has_lee(&precision->high[r]) || has_lee(&precision->low[r])));
    for (uint32_t r = 0; r < precision->rule_count; r++)
        any = any || has_lee(&precision->rules[r].quantizer);
    for (uint32_t p = 0; p < precision->phase_count; p++)
        any = any || hu_precision_has_lee(&precision->phases[p].precision);
    return any;
}

void hu_precision_free(hu_precision *precision) {
    for (uint32_t r = 0; r < precision->rule_count; r++) hu_rule_free(&precision->rules[r].words);
    for (uint32_t i = 0; i < precision->listed_count; i++) hu_free(precision->listed[i]);
    for (uint32_t p = 0; p < precision->phase_count; p++)
        hu_precision_free(&precision->phases[p].precision);
    hu_free(precision->rules);
    for (uint32_t t = 0; t < precision->tensor_count; t++) {
        hu_free(precision->tensors[t].name);
        hu_free(precision->tensors[t].origin);
        for (int p = 0; p < HU_PARTS; p++) hu_free(precision->tensors[t].part[p].list);
    }
    hu_free(precision->listed);
    hu_free(precision->bits.rates);
    hu_free(precision->phases);
    hu_free(precision->tensors);
    hu_accumulators_free(&precision->accumulators);
    hu_operand_choices_free(&precision->operands);
    precision->rules = NULL;
    precision->rule_count = 0;
    precision->listed = NULL;
    precision->listed_count = 0;
    precision->tensors = NULL;
    precision->tensor_count = 0;
    precision->phases = NULL;
    precision->phase_count = 0;
    precision->bits.rates = NULL;
}

/* ---- Precision by epoch ---- */

static const char expected[] =
    "'EPOCH: PRECISION, EPOCH: PRECISION, ...', as in '0: fp32, 30: hfp8'";

/* Characters up to and with the colon of "30:", 0 if the text does not begin so. */
static size_t epoch_length(const char *text) {
    size_t digits = strspn(text, "0123456789");
    size_t colon = digits + strspn(text + digits, " ");
    return digits > 0 && text[colon] == ':' ? colon + 1 : 0;
}

bool hu_precision_is_list(const char *text) {
    return epoch_length(text + strspn(text, " ")) > 0;
}

/* Characters of a phase: up to the comma after which the next one begins. Other commas belong to
 * its precision ("w=e4m3,act=e5m2"). */
static size_t phase_length(const char *text) {
    size_t length = 0;
    for (; text[length]; length++)
        if (text[length] == ',' && hu_precision_is_list(text + length + 1)) break;
    return length;
}

/* Characters before the spaces at the end of text[length]. */
static size_t trimmed(const char *text, size_t length) {
    while (length > 0 && isspace((unsigned char)text[length - 1])) length--;
    return length;
}

static hu_status check_order(const hu_precision *precision, int64_t epoch) {
    uint32_t count = precision->phase_count;
    if (count == 0 && epoch != 0)
        return hu_fail(HU_ERR_ARGUMENT, "precision.epochs: found epoch %lld first, expected 0",
                       (long long)epoch);
    if (count > 0 && epoch <= precision->phases[count - 1].epoch)
        return hu_fail(HU_ERR_ARGUMENT,
                       "precision.epochs: found epoch %lld behind epoch %lld, expected a later one",
                       (long long)epoch, (long long)precision->phases[count - 1].epoch);
    return HU_OK;
}

static hu_status add_phase(hu_precision *precision, int64_t epoch, const char *text,
                           hu_phase_reader *read, void *context) {
    hu_status st = HU_OK;
    void *array = precision->phases;
    hu_precision_phase *phase;
    HU_TRY(check_order(precision, epoch));
    HU_TRY(hu_realloc(&array, (precision->phase_count + 1) * sizeof *precision->phases));
    precision->phases = array;
    phase = &precision->phases[precision->phase_count];
    phase->epoch = epoch;
    st = read(context, text, &phase->precision);
    precision->phase_count++; /* read or not: it is freed with the others */
    if (st == HU_OK && phase->precision.scaling != precision->phases[0].precision.scaling)
        st = hu_fail(HU_ERR_ARGUMENT,
                     "found '%s', with scaling %s after %s: the network would be another one; "
                     "expected precision.scaling=unit or none, for all phases",
                     phase->precision.name, hu_scaling_name(phase->precision.scaling),
                     hu_scaling_name(precision->phases[0].precision.scaling));
    if (st == HU_OK && phase->precision.bits.schedule)
        st = hu_fail(HU_ERR_ARGUMENT,
                     "found '%s', a schedule of a whole training, expected it as precision=",
                     phase->precision.name);
    if (st != HU_OK) return hu_fail_within(st, "precision.epochs, epoch %lld: ", (long long)epoch);
done:
    return st;
}

/* One phase, text[length]. */
static hu_status read_phase(const char *text, size_t length, hu_phase_reader *read, void *context,
                            hu_precision *precision) {
    enum { MOST_DIGITS = 9 };
    char name[HU_SPEC_BYTES];
    size_t skip = epoch_length(text);
    if (skip == 0 || skip > length || strspn(text, "0123456789") > MOST_DIGITS)
        return hu_fail(HU_ERR_PARSE, "precision.epochs: found '%.*s', expected %s",
                       (int)(length < sizeof name ? length : sizeof name), text, expected);
    skip += strspn(text + skip, " ");
    length = skip < length ? trimmed(text + skip, length - skip) : 0;
    if (length == 0 || length >= sizeof name)
        return hu_fail(
            HU_ERR_PARSE,
            "precision.epochs, epoch %lld: found %zu characters, expected a precision of "
            "1 to %d characters",
            strtoll(text, NULL, 10), length, HU_SPEC_BYTES - 1);
    memcpy(name, text + skip, length);
    name[length] = '\0';
    return add_phase(precision, strtoll(text, NULL, 10), name, read, context);
}

/* What holds for the whole training. */
static void join_phases(hu_precision *precision) {
    size_t used = 0;
    precision->eval_masters = true;
    precision->scaling = precision->phases[0].precision.scaling;
    for (uint32_t p = 0; p < precision->phase_count; p++) {
        const hu_precision_phase *phase = &precision->phases[p];
        const hu_precision *one = &phase->precision;
        if (one->scaler == HU_SCALER_DYNAMIC && precision->scaler != HU_SCALER_DYNAMIC) {
            precision->scaler = HU_SCALER_DYNAMIC;
            precision->scaler_epoch_interval = one->scaler_epoch_interval;
        }
        precision->promotes = precision->promotes || one->promotes;
        precision->eval_masters = precision->eval_masters && one->eval_masters;
        if (used < sizeof precision->name)
            used +=
                (size_t)snprintf(precision->name + used, sizeof precision->name - used,
                                 "%s%lld: %s", p ? ", " : "", (long long)phase->epoch, one->name);
    }
}

hu_status hu_precision_parse_list(const char *text, hu_phase_reader *read, void *context,
                                  hu_precision *precision) {
    hu_status st = HU_OK;
    *precision = (hu_precision){0};
    for (;;) {
        text += strspn(text, " ");
        size_t length = phase_length(text);
        HU_TRY(read_phase(text, length, read, context, precision));
        if (!text[length]) break;
        text += length + 1;
    }
    join_phases(precision);
done:
    if (st != HU_OK) {
        hu_precision_free(precision);
        *precision = (hu_precision){0};
    }
    return st;
}

const hu_precision *hu_precision_at(const hu_precision *precision, int64_t epoch) {
    uint32_t p = precision->phase_count;
    while (p > 0 && precision->phases[p - 1].epoch > epoch) p--;
    return p > 0 ? &precision->phases[p - 1].precision : precision;
}
