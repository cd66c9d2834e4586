/* Precisions and rules: the first line is a precision, the others are its rules. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "precision/precision.h"

enum { GLOB_MAX = 128 };

/* can[i]: the pattern so far matches the first i characters of name. */
static bool matches_slowly(const char *pattern, const char *name) {
    bool can[GLOB_MAX + 1] = {true};
    size_t length = strlen(name);
    for (; *pattern; pattern++) {
        if (*pattern == '*') {
            for (size_t i = 1; i <= length; i++) can[i] = can[i] || can[i - 1];
            continue;
        }
        for (size_t i = length; i > 0; i--)
            can[i] = can[i - 1] && (*pattern == '?' || *pattern == name[i - 1]);
        can[0] = false;
    }
    return can[length];
}

/* What is printed reads back to the same numbers. */
static void check_printed(const hu_quantizer *quantizer) {
    char text[HU_QUANTIZER_BYTES];
    hu_quantizer again;
    hu_format plain;
    hu_quantizer_print(quantizer, text, sizeof text);
    hu_status st = hu_quantizer_parse(text, quantizer->rounding, &again);
    FUZZ_CHECK(st == HU_OK || fuzz_was_fault(st));
    if (st == HU_OK) FUZZ_CHECK(hu_quantizer_same_numbers(quantizer, &again));
    if (st == HU_OK)
        FUZZ_CHECK(hu_quantizer_needs_maximum(quantizer) == hu_quantizer_needs_maximum(&again));
    FUZZ_CHECK(hu_quantizer_code_bits(quantizer) >= hu_quantizer_bits(quantizer));
    (void)hu_plain_format_parse(text, &plain);
}

static void check_quantizer(const hu_quantizer *quantizer) {
    static const hu_quantizer nothing = {0};
    FUZZ_CHECK(quantizer->rounding < HU_ROUND_COUNT);
    if (hu_quantizer_rounds(quantizer)) check_printed(quantizer);
    FUZZ_CHECK(hu_quantizer_bits(quantizer) >= 1 && hu_quantizer_bits(quantizer) <= 32);
    if (quantizer->kind == HU_QUANTIZER_UNIFORM) return; /* integers, which have no format */
    if (hu_quantizer_rounds(quantizer) || memcmp(quantizer, &nothing, sizeof nothing) != 0)
        FUZZ_CHECK(hu_format_check(&quantizer->format) == HU_OK);
}

static void add_rule(hu_precision *precision, const char *text) {
    uint32_t count = precision->rule_count;
    hu_status st = hu_precision_add_rule(precision, text);
    if (st != HU_OK) {
        FUZZ_CHECK(st == HU_ERR_PARSE || st == HU_ERR_UNKNOWN || st == HU_ERR_FORMAT ||
                   fuzz_was_fault(st));
        FUZZ_CHECK(hu_last_error()[0] != '\0');
        FUZZ_CHECK(precision->rule_count == count);
        return;
    }
    FUZZ_CHECK(precision->rule_count == count + 1);
    const hu_precision_rule *rule = &precision->rules[count];
    check_quantizer(&rule->quantizer);
    FUZZ_CHECK(rule->words.pattern[0] != '\0');
    FUZZ_CHECK(strncmp(rule->words.text, rule->words.pattern, strlen(rule->words.pattern)) == 0);
    for (uint32_t r = 0; r <= count; r++) {
        const char *name = precision->rules[r].words.text;
        if (strlen(name) > GLOB_MAX) continue;
        FUZZ_CHECK(hu_glob_match(rule->words.pattern, name) ==
                   matches_slowly(rule->words.pattern, name));
    }
}

static void check_precision(hu_precision *precision, hu_status st, const char *text) {
    static const hu_precision zero = {0};
    if (st != HU_OK) {
        FUZZ_CHECK(st == HU_ERR_PARSE || st == HU_ERR_UNKNOWN || st == HU_ERR_FORMAT ||
                   st == HU_ERR_ARGUMENT || fuzz_was_fault(st));
        FUZZ_CHECK(hu_last_error()[0] != '\0');
        FUZZ_CHECK(memcmp(precision, &zero, sizeof zero) == 0);
        return;
    }
    FUZZ_CHECK(precision->scheme < HU_SCHEME_COUNT);
    FUZZ_CHECK(strncmp(precision->name, text, HU_SPEC_BYTES - 1) == 0);
    for (int r = 0; r < HU_ROLE_COUNT; r++) check_quantizer(&precision->role[r]);
}

static hu_status read_phase(void *context, const char *text, hu_precision *precision) {
    (void)context;
    return hu_precision_parse(text, precision);
}

/* A list of phases: epochs ascend from 0, each phase is a precision. */
static void check_list(const char *text) {
    hu_precision precision;
    memset(&precision, 0xff, sizeof precision);
    hu_status st = hu_precision_parse_list(text, read_phase, NULL, &precision);
    if (st != HU_OK) {
        FUZZ_CHECK(hu_last_error()[0] != '\0');
        FUZZ_CHECK(precision.phase_count == 0 && !precision.phases);
        return;
    }
    FUZZ_CHECK(precision.phase_count > 0 && precision.phases[0].epoch == 0);
    for (uint32_t p = 0; p < precision.phase_count; p++) {
        const hu_precision_phase *phase = &precision.phases[p];
        FUZZ_CHECK(p == 0 || phase->epoch > precision.phases[p - 1].epoch);
        FUZZ_CHECK(hu_precision_at(&precision, phase->epoch) == &phase->precision);
        for (int r = 0; r < HU_ROLE_COUNT; r++) check_quantizer(&phase->precision.role[r]);
    }
    hu_precision_free(&precision);
}

static void check_names(const char *text) {
    hu_scheme scheme;
    hu_format format;
    if (hu_scheme_parse(text, &scheme) == HU_OK)
        FUZZ_CHECK(strcmp(hu_scheme_name(scheme), text) == 0);
    if (hu_plain_format_parse(text, &format) == HU_OK)
        FUZZ_CHECK(hu_format_check(&format) == HU_OK);
}

void fuzz_one(const uint8_t *data, size_t size) {
    char *text = fuzz_text(data, size), *rest = text;
    const char *line = strsep(&rest, "\n");
    hu_precision precision;
    check_list(line);
    memset(&precision, 0xff, sizeof precision);
    check_precision(&precision, hu_precision_parse(line, &precision), line);
    check_names(line);
    if (size % 4 == 0) (void)hu_precision_set_lee(&precision);
    if (size % 4 == 1) (void)hu_precision_set_rounding(&precision, HU_ROUND_DOWN);
    while ((line = strsep(&rest, "\n"))) {
        add_rule(&precision, line);
        (void)FUZZ_DONE(hu_precision_add_listed(&precision, line));
    }
    FUZZ_CHECK(!precision.is_lee || size % 4 == 0);
    (void)hu_precision_has_lee(&precision);
    hu_precision_free(&precision);
    free(text);
}

bool fuzz_seed(size_t index, hu_byte_writer *seed) {
    static const char *const texts[] = {
        "hfp8\nlayer1.*: e4m3fn:ovf=sat\nact.grad: fp(5,2,0) sr\nconv?.weight : fp32",
        "w=e4m3,act=fp(4,3,4) rz,grad=e5m2 sr,wgrad=1/6/9/d\n *a*b?c*: bf16",
        "1/6/9/n",
        "0: fp32, 3 : w=e4m3,act=fp(4,3,4), 30: demote:0.5+promote",
        "e5m2:bias=16:specials=fnuz",
        "high\nweight: fp16 rodd\nweight.grad:e3m2",
        "act=e4m3 sr,w=e4m3",
        "popescu",
        "cpt:3..8",
        "resolved",
        "demote:0.6+promote",
        "cpt:3..8+promote",
        "e4m3:scale=delayed8",
        "e5m2:scale=current:ovf=nan",
        "e4m3:scale=2^-3",
        "uniform8:channel",
        "mxfp8",
        "e4m3 sr",
        "nvfp4:scale=bias",
        "fp16:scale=bias\n*: e4m3:specials=fin",
        "uniform8:running rz",
        "uniform3, 3: hfp8\nact: uniform8 sr"};
    return index < sizeof texts / sizeof *texts && fuzz_text_seed(texts[index], seed);
}
