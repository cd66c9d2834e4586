/* comm/scaling.h - how gradients fit the range of the format that they travel in.
 *
 * A scaling multiplies the numbers by a power of two, 2^-k, before they are rounded, or sends them
 * in codes of its own (comm/plan.h). A scaling is one file scaling_<name>.c and one line here.
 * Source: APS paper, Algorithm 1 and section 3.3; its Table 2 for those with codes.
 */
#ifndef HU_COMM_SCALING_H
#define HU_COMM_SCALING_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <halfulp/format.h>

/* Exponents as they travel: 8 bits. */
enum {
    HU_COMM_NOTHING = -128,  /* all numbers are zero */
    HU_COMM_NONFINITE = 127, /* an infinity or a NaN is among them: they travel without a scale */
    HU_COMM_EXPONENT_LEAST = -127,
    HU_COMM_EXPONENT_MOST = 126
};

typedef struct hu_comm_code hu_comm_code;

typedef struct hu_comm_scaling {
    const char *name; /* "aps" */
    const char *help;
    bool takes_constant; /* is written NAME:K */
    bool wide;           /* owners add in float32 and round once; with codes: add what they stand
                            for, without rounding */
    bool fresh;          /* every piece of every level has a scale of its own, in the message; no
                            exponents are agreed upon */

    /* Exponent of a tensor whose largest finite magnitude is top > 0, at one worker. All workers
     * take the largest of theirs, E, and k = E - emax of the format. NULL: nothing is agreed. */
    int32_t (*exponent)(const hu_format *format, int32_t workers, double top);

    const hu_comm_code *code; /* numbers travel in codes of its own; NULL: in a format */
    const char *form;         /* what may stand behind its name: "[:C]"; NULL: nothing, or K */
    int32_t usual;            /* constant of the name alone, where it has a form */
    bool (*read)(const char *text, int32_t *constant); /* what stands behind the colon; false: it
                                                          is not of the form */
    void (*print)(int32_t constant, char *text, size_t capacity); /* the same, with its colon */
} hu_comm_scaling;

/* X(identifier): the one list of scalings. */

// clang-format off
#define HU_COMM_SCALING_LIST(X) \
    X(none)                     \
    X(constant)                 \
    X(aps)                      \
    X(aps_tight)                \
    X(aps_wide)                 \
    X(aps2)                     \
    X(terngrad)                 \
    X(qsgd)                     \
    X(flex)

// clang-format on

#define HU_COMM_SCALING_DECLARE(identifier)                                                        \
    extern const hu_comm_scaling hu_comm_scaling_##identifier;
HU_COMM_SCALING_LIST(HU_COMM_SCALING_DECLARE)
#undef HU_COMM_SCALING_DECLARE

/* Scaling number i in the order of the list, NULL behind the last. Borrowed: valid for ever. */
const hu_comm_scaling *hu_comm_scaling_at(size_t i);

/* "aps", "constant:10", "qsgd:4/512" -> scaling and its constant: the K of 2^K, or what its form
 * says; 0 where it takes none. HU_ERR_UNKNOWN with all names, HU_ERR_PARSE. */
hu_status hu_comm_scaling_parse(const char *text, const hu_comm_scaling **scaling,
                                int32_t *constant);

/* "constant:10"; capacity bytes, 32 are enough. */
void hu_comm_scaling_print(const hu_comm_scaling *scaling, int32_t constant, char *text,
                           size_t capacity);

/* The paper's exponent: ceil(log2(top workers)). */
int32_t hu_comm_paper_exponent(const hu_format *format, int32_t workers, double top);

/* The nearest exponent that is one of numbers. A tiny one becomes larger, which only costs range; a
 * huge one smaller, and the numbers overflow, rightly. */
int32_t hu_comm_clamp(int32_t exponent);

/* Exponent that a worker sends for numbers of which the largest finite magnitude has the bits top:
 * within 8 bits, NOTHING for 0, NONFINITE where has_nonfinite. */
int32_t hu_comm_exponent(const hu_comm_scaling *scaling, const hu_format *format, int32_t workers,
                         uint32_t top_bits, bool has_nonfinite);

/* The k of the exponent that all workers agreed upon; 0 for NOTHING and NONFINITE. */
int32_t hu_comm_scale_of(const hu_format *format, int32_t exponent);

#endif
