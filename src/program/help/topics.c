/* Topics: each a table of the library as text. */
#include <stdio.h>
#include <string.h>

#include <halfulp/data.h>
#include <halfulp/format.h>
#include <halfulp/gemm.h>

#include "base/memory.h"
#include "base/text.h"
#include "format/value.h"
#include "help/internal.h"
#include "help/manual.h"
#include "kernel/block/block.h"
#include "kernel/gemm/tensor_core.h"
#include "model/model.h"
#include "precision/bits.h"
#include "precision/precision.h"
#include "task/task.h"
#include "tensor/quantizer.h"
#include "train/trainer.h"

enum { WORD_COLUMNS = 14, WORD_BYTES = 96 };

/* A row of a table, as the help tells of it. */
typedef struct row {
    const char *name, *help; /* name NULL: after the last */
    const char *argument;    /* what stands after a colon; NULL or "": nothing */
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
        const char *table = hu_format_summary(&format);
        if (table)
            hu_page_put(page, "%s: a number format of %u bits by table: %s\n", word,
                        (unsigned)hu_format_bits(&format), table);
        else
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
    if (hu_put_recipe(page, word)) return true;
    if (hu_precision_parse(word, &precision) != HU_OK) return false;
    hu_precision_free(&precision);
    hu_page_put(page,
                "%s: for precision=%s\n`halfulp help precisions` says what its parts mean, "
                "`halfulp help precision` what else\nmay stand there.\n",
                word, word);
    return true;
}

/* ---- accumulators and modes ---- */

/* How a term x y is added (halfulp/gemm.h); "F" where a format stands after the name. */
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
                                         "study computes it"},
    [HU_MAC_TC] = {"tc:NAME", "steps of a tensor core: K terms and a, each cut to F bits below the "
                              "largest of them, added exactly, a = the sum cut; tc:h100-fp8, or "
                              "tc:K=32:F=13:out=13; :promote=N adds it to float32 every N terms"}};

void hu_put_accumulators(hu_page *page) {
    hu_page_put(page,
                "Accumulators, for accumulator=NAME: how the sum a of a product of matrices takes "
                "its\nterms x y. R rounds to F, any number format without blocks and scale; fp32 "
                "to float32.\n\n"
                "  %-*s float32 with fused multiply-adds, weight gradients in strips (default)\n",
                WORD_COLUMNS, "fp32");
    for (int i = 0; i < HU_MAC_COUNT; i++) {
        hu_page_put(page, "  %-*s ", WORD_COLUMNS, macs[i].spelled);
        hu_put_wrapped(page, macs[i].what, WORD_COLUMNS + 3, WORD_COLUMNS + 3);
    }
    hu_page_put(page, "\nTensor cores, as they were measured (tc:NAME):\n");
    for (size_t i = 0; hu_core_at(i); i++) {
        const hu_core *core = hu_core_at(i);
        hu_page_put(page, "  %-*s K=%d, F=%d, out=%d: %s\n", WORD_COLUMNS, core->name, core->terms,
                    core->align_bits, core->out_bits, core->what);
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
    if (strcmp(word, "tc") == 0) snprintf(whole, sizeof whole, "tc:h100-fp8");
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

static const char random_bits[] =
    "by 32 random bits; sr:bits=N: by N of them, 1..32; sr:bits=N:kind=a, b or c: IEEE P3109's "
    "StochasticA, which cuts the chance to N bits, B, which rounds it to them, ties up, or C, ties "
    "to "
    "even, the usual one";

static bool put_rounding(hu_page *page, const char *word) {
    hu_rounding rounding;
    if (hu_rounding_parse(word, &rounding) != HU_OK) return false;
    hu_page_put(page, "%s: a rounding mode\n  ", word);
    hu_put_wrapped(page, roundings[hu_rounding_mode(rounding)], 2, 2);
    if (hu_rounding_mode(rounding) == HU_ROUND_STOCHASTIC) {
        hu_page_put(page, "  ");
        hu_put_wrapped(page, random_bits, 2, 2);
    }
    hu_page_put(page,
                "  behind a format: \"precision=act=e4m3 %s\"; of all tensors: "
                "precision.rounding=%s;\n  of numbers: halfulp fmt F --round=%s\n",
                word, word, word);
    return true;
}

/* What a key may be, "dynamic" of scaler, or is called after its dot, "momentum". */
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
           hu_put_term(page, word) || is_row;
}

bool hu_put_word(hu_page *page, const char *word, bool is_known) {
    hu_page own = {.status = HU_OK};
    char *text = NULL;
    bool means = put_meanings(&own, word) ||
                 (!is_known && (put_choices(&own, word) || put_precision(&own, word)));
    if (!is_known && !means) means = hu_put_operation(&own, word);
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
    return hu_term_at(index);
}

/* ---- Topics ---- */

enum { NAME_COLUMNS = 18 };

/* "  name  what it is", in lines. */
static void put_row(hu_page *page, const char *name, const char *help) {
    int at = (int)strlen(name) > NAME_COLUMNS ? (int)strlen(name) : NAME_COLUMNS;
    hu_page_put(page, "  %-*s ", NAME_COLUMNS, name);
    hu_put_wrapped(page, help, at + 3, NAME_COLUMNS + 3);
}

/* Names and what they are; their usual trainings are told of each, `halfulp help NAME`. */
static void put_models(hu_page *page) {
    hu_page_put(page, "Models, for model=NAME; model.width=2 makes one twice as wide. A network "
                      "of one's own: docs.\n\n");
    for (int i = 0; i < hu_model_count; i++)
        put_row(page, hu_model_table[i].name, hu_model_table[i].help);
}

/* Each with its usual loss and all its metrics. */
static void put_tasks(hu_page *page) {
    hu_page_put(page, "Tasks, for task=NAME (usually the model's own). The first metric is the one "
                      "that\ncompare, assign and reports take.\n\n");
    for (size_t i = 0; hu_task_at(i); i++) {
        const hu_task *task = hu_task_at(i);
        put_row(page, task->name, task->help);
        hu_page_put(page, "  %*s loss %s; metrics", NAME_COLUMNS, "", task->loss);
        for (int m = 0; task->metric[m]; m++) hu_page_put(page, " %s", task->metric[m]->name);
        hu_page_put(page, "\n");
    }
}

/* What a task may be given in place of its own. */
static void put_losses(hu_page *page) {
    hu_page_put(page, "Losses, for loss=NAME (usually the task's own).\n\n");
    for (size_t i = 0; hu_loss_at(i); i++) put_row(page, hu_loss_at(i)->name, hu_loss_at(i)->help);
}

/* Kinds of data, with what their folders hold. */
static void put_data(hu_page *page) {
    hu_page_put(page,
                "Data sets, for data=KIND or data=KIND:PATH; `halfulp help data=folder` shows "
                "how files of\na kind must lie, and the keys data.* choose parts of "
                "them.\n\n");
    for (size_t i = 0; hu_data_kind_name(i); i++)
        put_row(page, hu_data_kind_name(i), hu_data_kind_help(i));
}

/* How formats are written, then those with names. */
static void put_formats(hu_page *page) {
    const char *name, *help;
    const hu_block_format *block;
    hu_page_put(
        page, "Number formats, for fmt, precision= and accumulator=. Of one's own:\n"
              "  eEmM           E exponent and M mantissa bits, with :bias=B :ovf=inf|sat|nan|\n"
              "                 propagate :specials=ieee|fin|fn|fnuz :sub=d|n|nearest :nan=ovf\n"
              "  1/E/M/d        the same, with subnormals; 1/E/M/n: without\n"
              "  fp(E,M,EXTRA)  all codes are numbers; EXTRA is added to the usual bias\n"
              "  uniformB       B-bit integers over the range of a tensor, B from 2 to 16\n"
              "  table:FILE     the numbers of a file, one a line in the order of codes, or a\n"
              "                 number and the boundary to the next larger one; inf, nan, # note\n"
              "  positN takumN takumlogN lnsN   of N bits, 3..16; positN:es=E, lnsN:f=F|:base=B\n"
              "  book:LO..HI:N  N evenly spaced numbers\n"
              "A bare e4m3 is by the rules of IEEE 754, with infinities; OCP's is e4m3fn.\n"
              "e3m3 has 7 bits: a sign, 3 of exponent, 3 of mantissa. Formats of up to 8 bits lie\n"
              "in 8 each, up to 16 in 16, wider ones in 32; storage=dense leaves no gaps in those\n"
              "of up to 16. Blocks and uniformB never have any.\n\n");
    for (uint32_t i = 0; (name = hu_format_named(i, NULL, &help)) != NULL; i++)
        put_row(page, name, help ? help : "");
    hu_page_put(
        page,
        "\nin blocks with a scale each (mx...:scale=ceil, rceil or even: not rounded down):\n");
    for (size_t i = 0; (block = hu_block_format_at(i)) != NULL; i++)
        hu_page_put(page, "  %s\n", block->name);
}

/* What may stand after precision=, from a name to a plan. */
static void put_precisions(hu_page *page) {
    hu_page_put(page, "Precisions, for precision=.\n\n  named:");
    for (int i = 0; i < hu_precision_name_count; i++)
        hu_page_put(page, "%s %s", i % 8 == 7 ? "\n        " : "", hu_precision_names[i]);
    hu_page_put(
        page,
        "\n\n"
        "  F                              any number format for all tensors, see `help formats`\n"
        "  w=F,act=F,grad=F,wgrad=F       one for weights, activations, their gradients, and\n"
        "                                 gradients of weights; what is left out stays float32\n"
        "  F:scale=current|delayed|bias   with a scale of its own for each tensor\n"
        "  static:B cpt:A-B ldp:A-B ...   integers whose bits go by a schedule, keys bits.*\n"
        "  deepseek-fp8 nvfp4-te ...      what products multiply in blocks, see `help recipes`\n"
        "  FILE.yaml                      a plan, as assign and every training write one\n\n"
        "Two formats, precision.high= and precision.low=, shared out among the tensors; with\n"
        "+promote behind it, tensors that overflow too often go high for good:\n");
    for (int i = 0; i < hu_assignment_count; i++) {
        const hu_assignment_kind *kind = hu_assignment_table[i];
        char name[64];
        snprintf(name, sizeof name, "%s%s%s", kind->name, *kind->argument ? ":" : "",
                 kind->argument);
        put_row(page, name, kind->help);
    }
    hu_page_put(page,
                "\n  precision.rules='fc.*: fp16'          some tensors otherwise, by their names\n"
                "  precision.epochs='0: fp32, 2: hfp8'   another precision from epoch 2 on\n");
}

/* The rows that hu_schedule_parse knows. */
static void put_schedules(hu_page *page) {
    hu_page_put(page,
                "Learning rates over time, for lr.schedule=NAME; the keys lr.* set them.\n\n");
    for (int i = 0; i < HU_SCHEDULE_COUNT; i++)
        put_row(page, hu_schedule_kinds[i].name, hu_schedule_kinds[i].summary);
}

/* The rows that hu_optimizer_parse knows. */
static void put_optimizers(hu_page *page) {
    hu_page_put(page, "Optimizers, for optimizer=NAME; the keys optimizer.* set them.\n\n");
    for (int i = 0; i < HU_OPTIMIZER_COUNT; i++)
        put_row(page, hu_optimizer_kinds[i].name, hu_optimizer_kinds[i].summary);
}

/* Common keys in a line each, then all of them, long. */
static void put_keys(hu_page *page) {
    hu_page_put(page, "Keys, as key=value behind a verb, or in a YAML file that config=FILE names; "
                      "words\nwin over files.\n\ncommon:\n");
    for (size_t i = 0; hu_common_key_at(i); i++) hu_put_key_line(page, hu_common_key_at(i));
    for (size_t g = 0; hu_key_group_at(g); g++) {
        hu_page_put(page, "\n%s: %s\n", hu_key_group_at(g)->name, hu_key_group_at(g)->title);
        for (size_t i = 0; i < hu_config_key_count; i++)
            if (hu_key_is_of(&hu_config_keys[i], hu_key_group_at(g)))
                hu_put_key(page, &hu_config_keys[i]);
    }
}

/* As include/halfulp/status.h gives them. */
static void put_exit_codes(hu_page *page) {
    hu_page_put(page, "Exit codes:\n\n"
                      "  0    it worked\n"
                      "  1    a check failed (doctor, assign without an answer)\n"
                      "  2    usage: a word, key or value that cannot be\n"
                      "  3    data: a file that is not there, damaged or of another version\n"
                      "  4    numerics: the training diverged\n"
                      "  5    resources: memory, disk, permissions\n"
                      "  6    another process of mpirun was lost\n"
                      "  130  interrupted; a training has saved where it was\n");
}

static void put_scales(hu_page *page) {
    hu_page_put(page,
                "Scales, behind a format: its numbers are multiplied by a power of two before they "
                "are\nrounded, and divided by it afterwards, so that its range lies where the "
                "numbers are.\n\n"
                "  F:scale=current   each tensor's own, from its largest number, in every step\n"
                "  F:scale=delayed   from the largest numbers of the steps before\n"
                "  F:scale=bias      the exponent's bias is chosen by tensor instead\n"
                "  F:scale=2^K       one power of two for good, such as e4m3:scale=2^4\n"
                "  F:tile=RxC:scale=S   a scale for each tile of R lines and C columns: `halfulp "
                "help tile`\n\n"
                "current must see the whole tensor before its first number can be rounded: the "
                "tensor stands\nin float32 between two loops then (plan says `waits`), which "
                "costs memory and time.\nAll gradients by one factor: `halfulp help scaler`.\n");
}

/* In the order in which a reader of the help may ask. */
/* The way from and to PyTorch. */
static void put_pytorch(hu_page *page) {
    hu_page_put(
        page,
        "PyTorch and halfulp meet in files of weights. A network of PyTorch cannot be read.\n\n"
        "  halfulp export RUN out=w.safetensors     weights of a run, named and laid out as\n"
        "                                           torch has them: load_state_dict takes them\n"
        "  halfulp train init=w.safetensors ...     begins with weights of torch\n\n"
        "What torch calls float8_e4m3fn is e4m3fn here, float8_e5m2 is e5m2, bfloat16 is bf16,\n"
        "float16 is fp16. docs/how-to/weights.md has the lines of Python for every model.\n");
}

static void put_python(hu_page *page) {
    hu_page_put(page,
                "`pip install .` in the folder of the source builds a package for NumPy:\n\n"
                "  import halfulp as hu\n"
                "  hu.round(x, \"e4m3fn\", counts=True)           numbers through any format\n"
                "  hu.gemm(a, b, \"fmac8:1/6/9\")                products with any accumulator\n"
                "  run = hu.train(model=\"cnn-s\", data=\"glyphs\", precision=\"hfp8\")\n"
                "  run.metrics, run.why()                       the program's results as objects\n"
                "  hu.Net(input=(32, 32, 3))                    networks of one's own\n\n"
                "docs/how-to/python.md takes ten minutes. Without it: every verb prints one JSON "
                "object with\n--json, and metrics.csv, metrics.jsonl and weights.safetensors of a "
                "run are read by pandas\nand safetensors (`halfulp help runs`).\n");
}

static void put_onnx(hu_page *page) {
    hu_page_put(page,
                "ONNX files are neither read nor written. Weights go out as safetensors (`halfulp "
                "export RUN`);\nPyTorch takes them and writes ONNX: docs/how-to/weights.md.\n");
}

static const hu_topic topics[] = {
    {"models", "networks by name", put_models},
    {"operations", "what networks of one's own are made of", hu_put_operations},
    {"data", "data sets, and what their folders hold", put_data},
    {"runs", "what a run's folder holds, and who reads it", hu_put_runs},
    {"formats", "number formats, named and of one's own", put_formats},
    {"precisions", "which tensors are rounded to what, in one word", put_precisions},
    {"recipes", "what products multiply, by recipes of 2025", hu_put_recipes},
    {"accumulators", "how products of matrices add their terms", hu_put_accumulators},
    {"scale", "formats with a scale by tensor: F:scale=current", put_scales},
    {"tasks", "what is learned, with losses and metrics", put_tasks},
    {"losses", "losses by name", put_losses},
    {"optimizers", "updates by name", put_optimizers},
    {"schedules", "learning rates over time", put_schedules},
    {"keys", "all keys, in groups", put_keys},
    {"pytorch", "weights to and from PyTorch", put_pytorch},
    {"python", "from Python", put_python},
    {"onnx", "what there is of ONNX", put_onnx},
    {"exit-codes", "what the program returns", put_exit_codes},
};

const hu_topic *hu_topic_at(size_t index) {
    return index < sizeof topics / sizeof *topics ? &topics[index] : NULL;
}
