#include "help/words.h"

#include <halfulp/format.h>
#include <halfulp/gemm.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "help/key_groups.h"
#include "kernel/block/block.h"
#include "precision/precision.h"
#include "precision/bits.h"
#include "task/task.h"
#include "tensor/quantizer.h"
#include "train/trainer.h"

enum { NAME_COLUMNS = 14, WORD_BYTES = 96 };

/* A row of a table, as the help tells of it. */
typedef struct row {
    const char *name, *help; /* name NULL: behind the last */
    const char *argument;    /* what stands behind a colon; NULL or "": nothing */
} row;

/* ---- tables of the library ---- */

static row task_at(size_t i) {
    const hu_task *task = hu_task_at(i);
    return task ? (row){task->name, task->help, NULL} : (row){0};
}

static row loss_at(size_t i) {
    const hu_loss_form *loss = hu_loss_at(i);
    return loss ? (row){loss->name, loss->help, NULL} : (row){0};
}

static row optimizer_at(size_t i) {
    const hu_kind *kind = &hu_optimizer_kinds[i];
    return i < HU_OPTIMIZER_COUNT ? (row){kind->name, kind->summary, NULL} : (row){0};
}

static row schedule_at(size_t i) {
    const hu_kind *kind = &hu_schedule_kinds[i];
    return i < HU_SCHEDULE_COUNT ? (row){kind->name, kind->summary, NULL} : (row){0};
}

static row assignment_at(size_t i) {
    if (i >= (size_t)hu_assignment_count) return (row){0};
    const hu_assignment_kind *kind = hu_assignment_table[i];
    return (row){kind->name, kind->help, kind->argument};
}

static row bits_at(size_t i) {
    const hu_bits_schedule *kind = i < HU_BITS_SCHEDULES ? hu_bits_table[i] : NULL;
    return kind ? (row){kind->name, kind->help, kind->argument} : (row){0};
}

static const struct {
    row (*at)(size_t index);
    const char *what, *topic; /* topic: lists them all */
} tables[] = {{task_at, "a task, for task=", "tasks"},
              {loss_at, "a loss, for loss=", "losses"},
              {optimizer_at, "an optimizer, for optimizer=", "optimizers"},
              {schedule_at, "a learning rate over time, for lr.schedule=", "schedules"},
              {assignment_at, "an assignment, for precision=", "precisions"},
              {bits_at, "a schedule of bits, for precision=", "precisions"}};
enum { TABLES = sizeof tables / sizeof *tables };

/* Between which formats assignments choose, unless keys say otherwise. */
static void put_candidates(hu_page *page) {
    enum { OTHERS = 3 };
    hu_precision usual;
    char text[OTHERS][HU_QUANTIZER_BYTES] = {""};
    if (hu_precision_parse("uniform", &usual) != HU_OK) return;
    const hu_quantizer *const all[OTHERS] = {&usual.low[HU_ROLE_ACT], &usual.low[HU_ROLE_ACT_GRAD],
                                             &usual.high[HU_ROLE_ACT]};
    for (int i = 0; i < OTHERS; i++) hu_quantizer_print(all[i], text[i], sizeof text[i]);
    hu_precision_free(&usual);
    hu_page_put(page,
                "  low: %s forward, %s for gradients (precision.low=); high: %s\n"
                "  (precision.high=); `halfulp fmt '%s' '%s' '%s'` shows them\n",
                text[0], text[1], text[2], text[0], text[1], text[2]);
}

/* Names end at their argument and at +promote: "demote:0.6", "hfp8+promote". */
static bool put_rows(hu_page *page, const char *word) {
    bool is_known = false;
    size_t length = strcspn(word, ":+");
    for (size_t t = 0; t < TABLES; t++)
        for (size_t i = 0; tables[t].at(i).name; i++) {
            row found = tables[t].at(i);
            if (strlen(found.name) != length || memcmp(found.name, word, length) != 0) continue;
            bool takes = found.argument && *found.argument;
            hu_page_put(page, "%s%s: %s%s%s%s\n  ", is_known ? "\n" : "", found.name,
                        tables[t].what, found.name, takes ? ":" : "", takes ? found.argument : "");
            hu_put_wrapped(page, found.help, 2, 2);
            if (tables[t].at == assignment_at) put_candidates(page);
            hu_page_put(page, "`halfulp help %s` lists them all%s.\n", tables[t].topic,
                        strcmp(tables[t].topic, "precisions") == 0
                            ? ", `halfulp help precision` says what else precision= takes"
                            : "");
            is_known = true;
        }
    return is_known;
}

/* ---- formats and precisions ---- */

/* What `fmt --list` says of a format with a name; "" of others. */
static const char *description_of(const hu_format *format) {
    const char *name, *help;
    hu_format named;
    for (uint32_t i = 0; (name = hu_format_named(i, &named, &help)) != NULL; i++)
        if (hu_format_equal(&named, format)) return help;
    return "";
}

static bool put_format(hu_page *page, const char *word) {
    hu_format format;
    char quoted[WORD_BYTES];
    const hu_block_format *block = hu_block_format_find(word);
    if (block) {
        hu_page_put(page, "%s: a number format in blocks: %s\n", word, block->description);
    } else if (hu_format_parse(word, &format) == HU_OK) {
        const char *known = description_of(&format);
        hu_page_put(page,
                    "%s: a number format of %u bits: a sign, %u of exponent, %u of mantissa\n",
                    word, (unsigned)hu_format_bits(&format), (unsigned)format.exp_bits,
                    (unsigned)format.man_bits);
        if (*known) hu_page_put(page, "  %s\n", known);
    } else {
        return false;
    }
    if (!hu_quote_shell(word, quoted, sizeof quoted)) snprintf(quoted, sizeof quoted, "NAME");
    hu_page_put(page,
                "  halfulp fmt %s: its limits; --table: all its numbers; out=FILE.html: pictures\n"
                "  halfulp train precision=%s: all tensors in it\n"
                "`halfulp help formats` says how formats are written, `halfulp help precision` "
                "where they may stand.\n",
                quoted, quoted);
    return true;
}

/* What precision= takes beside: uniform8, w=F,act=F, F with a scale. */
static bool put_precision(hu_page *page, const char *word) {
    hu_precision precision;
    if (hu_precision_parse(word, &precision) != HU_OK) return false;
    hu_precision_free(&precision);
    hu_page_put(page,
                "%s: for precision=%s\n`halfulp help precisions` says what its parts mean, "
                "`halfulp help precision` what else\nmay stand there.\n",
                word, word);
    return true;
}

/* ---- accumulators and modes ---- */

/* How a term x y is added (halfulp/gemm.h); "F" where a format stands behind the name. */
static const struct {
    const char *spelled, *what;
} macs[HU_MAC_COUNT] = {
    [HU_MAC_FMACS] = {"fmacs", "a = fp32(a + x y): float32, one term after the other; has no F"},
    [HU_MAC_MACS] = {"macs:F", "a = fp32(a + R(x y)): products in F, their sum in float32"},
    [HU_MAC_FMAC] = {"fmac:F", "a = R(a + x y): the sum in F, products exact"},
    [HU_MAC_MAC] = {"mac:F", "a = R(a + R(x y)): products and sum in F"},
    [HU_MAC_FMAC_K] = {"fmacK:F", "fmac over blocks of K terms, whose sums are added in float32: "
                                  "fmac8:1/6/9"},
    [HU_MAC_KAHAN] = {"kahan:F", "y = R(x y - c), t = R(a + y), c = R(R(t - a) - y), a = t: what "
                                 "the sum in F lost is kept in c, and added to the next term"},
    [HU_MAC_KAHAN_CPD] = {"kahan-cpd:F", "the same with y = R(R(x y) - c), as CPD of the APS "
                                         "study computes it"}};

void hu_put_accumulators(hu_page *page) {
    hu_page_put(page,
                "Accumulators, for accumulator=NAME: how the sum a of a product of matrices takes "
                "its\nterms x y. R rounds to F, any number format without blocks and scale; fp32 "
                "to float32.\n\n"
                "  %-*s float32 with fused multiply-adds, weight gradients in strips (default)\n",
                NAME_COLUMNS, "fp32");
    for (int i = 0; i < HU_MAC_COUNT; i++) {
        hu_page_put(page, "  %-*s ", NAME_COLUMNS, macs[i].spelled);
        hu_put_wrapped(page, macs[i].what, NAME_COLUMNS + 3, NAME_COLUMNS + 3);
    }
    hu_page_put(page,
                "\naccumulator.rules give one layer or product another. `halfulp gemm "
                "accumulator=fmac:fp16,kahan:fp16\nk=4096` measures their errors, `halfulp why "
                "RUN` tells of sums that stalled: terms that were too\nsmall to change them. "
                "Exactly: docs/reference/numerics/index.md.\n");
}

/* "fmac8", "fmac", "fmac:fp16" */
static bool put_accumulator(hu_page *page, const char *word) {
    hu_accumulator accumulator;
    char whole[WORD_BYTES];
    bool is_whole = strchr(word, ':') || strcmp(word, "fmacs") == 0;
    snprintf(whole, sizeof whole, "%.60s%s", word, is_whole ? "" : ":fp16");
    bool is_block = strcmp(word, "fmacK") == 0 || strcmp(word, "fmac-k") == 0;
    if (is_block) snprintf(whole, sizeof whole, "fmac8:fp16");
    if (hu_accumulator_parse(whole, &accumulator) != HU_OK) return false;
    hu_page_put(page, "%s: an accumulator, for accumulator=%s\n  ", word,
                is_block ? "fmac8:1/6/9" : whole);
    hu_put_wrapped(page, macs[accumulator.mac].what, 2, 2);
    hu_page_put(page,
                "R rounds to F, a number format. `halfulp help accumulators` has them all.\n");
    return true;
}

static const char *const roundings[HU_ROUND_COUNT] = {
    [HU_ROUND_NEAREST_EVEN] = "to the nearest, ties to even",
    [HU_ROUND_NEAREST_AWAY] = "to the nearest, ties away from zero",
    [HU_ROUND_TOWARD_ZERO] = "toward zero",
    [HU_ROUND_UP] = "toward +infinity",
    [HU_ROUND_DOWN] = "toward -infinity",
    [HU_ROUND_TO_ODD] = "to odd: toward zero, and the last bit set where anything was lost",
    [HU_ROUND_STOCHASTIC] = "stochastic: up with a chance of as much as was cut off"};

static bool put_rounding(hu_page *page, const char *word) {
    hu_rounding rounding;
    if (hu_rounding_parse(word, &rounding) != HU_OK) return false;
    hu_page_put(page, "%s: a rounding mode\n  ", word);
    hu_put_wrapped(page, roundings[rounding], 2, 2);
    hu_page_put(page,
                "  behind a format: \"precision=act=e4m3 %s\"; of all tensors: "
                "precision.rounding=%s;\n  of numbers: halfulp fmt F --round=%s\n",
                word, word, word);
    return true;
}

/* ---- words of the field ---- */

static const struct {
    const char *name, *help;
} terms[] = {
    {"aggregate", "the model aggregate (Lee et al.): the bits of all tensors of a batch and of "
                  "their gradients, each in its format, whether or not they are in memory at the "
                  "same time; budget=memory:S bounds it as a share of float32's"},
    {"arena", "the one block of memory in which all tensors of a step lie. Which lies where is "
              "planned before the first step, so that `halfulp plan` knows what a training takes"},
    {"binade", "the numbers from one power of two to the next; a format has as many of each as "
               "its mantissa bits say"},
    {"checkpoint", "all that a training needs to go on to the same bits: `halfulp resume RUN`; "
                   "run.checkpoint_every= and checkpoint=best choose which are kept and read"},
    {"codes", "numbers in the bits of their format, 8 or 16 for each: `halfulp fmt F --table`, "
              "export weights=codes"},
    {"collapsed", "a training that ended no better than guessing"},
    {"diverged", "a training that ended at a number that is infinite or no number"},
    {"fine-tuning", "training that begins with weights which have seen other data: init=RUN or "
                    "init=FILE; init.skip='fc.*' leaves out the head, lr.rules= holds parts still. "
                    "docs/how-to/fine-tuning.md"},
    {"histogram", "how many numbers of a tensor have which exponent, every "
                  "run.histogram_every= steps: what `halfulp stats`, `halfulp why` and the report "
                  "reckon formats by"},
    {"ledger", "the memory of a training by what it is for, planned before the first step and "
               "equal to what was allocated: `halfulp plan`"},
    {"loss-scaling", "the loss times a factor, so that small gradients do not become zero in their "
                     "format; divided out before the update. scaler="},
    {"low-ratio", "the share of all numbers of a batch that are in the low of two formats"},
    {"master", "the float32 weights that the optimizer changes; products see them rounded. "
               "master=off keeps none, eval.weights= says which are judged"},
    {"overflow", "a number beyond the largest of its format: it becomes infinite, NaN or that "
                 "largest number, as :ovf= says"},
    {"promotion", "a tensor that overflows too often gets the high of two formats for good: "
                  "+promote behind a precision, precision.promote_at="},
    {"saved", "what the forward pass keeps for the backward pass: activations and masks"},
    {"scheme", "where in a step numbers are rounded, after one of three papers: precision.scheme="},
    {"skipped", "a step whose gradients or loss were not finite: it changes no weight, and a "
                "dynamic loss scale falls"},
    {"stalled", "a sum of a low-precision accumulator that a term left as it was, as the term was "
                "too small beside it"},
    {"subnormal", "a number below the smallest normal one of its format, with fewer bits of "
                  "precision; :sub=n has none"},
    {"trouble", "a tensor in trouble lost half of its nonzero numbers or more to zero or to "
                "overflow in a step: `halfulp why RUN`"},
    {"underflow", "a number that is not zero and becomes zero, as it is too small for its format"},
};
enum { TERMS = sizeof terms / sizeof *terms };

static bool put_term(hu_page *page, const char *word) {
    for (size_t i = 0; i < TERMS; i++) {
        if (strcmp(terms[i].name, word) != 0) continue;
        hu_page_put(page, "%s\n  ", word);
        hu_put_wrapped(page, terms[i].help, 2, 2);
        return true;
    }
    return false;
}

/* What a key may be, "dynamic" of scaler, or is called behind its dot, "momentum". */
static bool put_choices(hu_page *page, const char *word) {
    bool is_known = false;
    size_t length = strlen(word);
    for (size_t i = 0; i < hu_config_key_count; i++) {
        const hu_config_key *key = &hu_config_keys[i];
        if (strcmp(strchr(key->name, '.') + 1, word) == 0) {
            hu_page_put(page, "%s: `halfulp help %s`\n", key->name, key->name);
            is_known = true;
        }
        for (const char *at = key->words; *at; at += strcspn(at, " "), at += *at == ' ') {
            if (strcspn(at, " ") != length || memcmp(at, word, length) != 0) continue;
            const char *typed = hu_key_typed_name(key);
            hu_page_put(page, "%s=%s: `halfulp help %s`\n", typed, word, typed);
            is_known = true;
        }
    }
    return is_known;
}

/* All that has the word for its name. */
static bool put_meanings(hu_page *page, const char *word) {
    bool is_row = put_rows(page, word);
    return put_format(page, word) || put_accumulator(page, word) || put_rounding(page, word) ||
           put_term(page, word) || is_row;
}

bool hu_put_word(hu_page *page, const char *word, bool is_known) {
    hu_page own = {.status = HU_OK};
    char *text = NULL;
    bool means = put_meanings(&own, word) ||
                 (!is_known && (put_choices(&own, word) || put_precision(&own, word)));
    if (!means) {
        hu_page_free(&own);
        return false;
    }
    if (hu_page_finish(&own, &text) == HU_OK)
        hu_page_put(page, "%s%s", is_known ? "\n" : "", text);
    else
        page->status = HU_ERR_MEMORY;
    hu_free(text);
    return true;
}

const char *hu_word_at(size_t index) {
    for (size_t t = 0; t < TABLES; t++)
        for (size_t i = 0; tables[t].at(i).name; i++)
            if (index-- == 0) return tables[t].at(i).name;
    const char *name = hu_format_named((uint32_t)index, NULL, NULL);
    if (index < hu_format_named_count()) return name;
    index -= hu_format_named_count();
    if (index < (size_t)hu_precision_name_count) return hu_precision_names[index];
    index -= (size_t)hu_precision_name_count;
    for (size_t i = 0; hu_block_format_at(i); i++)
        if (index-- == 0) return hu_block_format_at(i)->name;
    if (index < HU_MAC_COUNT) return hu_mac_name((hu_mac)index);
    index -= HU_MAC_COUNT;
    if (index < HU_ROUND_COUNT) return hu_rounding_name((hu_rounding)index);
    index -= HU_ROUND_COUNT;
    return index < TERMS ? terms[index].name : NULL;
}
