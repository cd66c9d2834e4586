/* halfulp/format.h - number formats: description, parsing, limits, codes.
 * Layer 1 (depends on base). Thread-safe: all functions are pure.
 */
#ifndef HALFULP_FORMAT_H
#define HALFULP_FORMAT_H
#include <stdint.h>

#include <halfulp/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Which codes are not finite numbers. */
typedef enum hu_specials {
    HU_SPECIALS_IEEE, /* all-ones exponent field: infinity if the fraction is 0, else NaN */
    HU_SPECIALS_FIN,  /* none: every code is a finite number */
    HU_SPECIALS_FN,   /* no infinity; exponent and fraction all ones is NaN (OCP E4M3) */
    HU_SPECIALS_FNUZ, /* no infinity, no -0; code 100..0 is the one NaN */
    HU_SPECIALS_TABLE /* what a table of codes says: no float */
} hu_specials;

/* What becomes of numbers beyond the largest finite one, and of infinities. */
typedef enum hu_overflow {
    HU_OVERFLOW_INF,
    HU_OVERFLOW_SAT,
    HU_OVERFLOW_NAN,
    HU_OVERFLOW_PROPAGATE, /* numbers: the largest, infinities stay; IEEE and tables. Source:
                              SatPropagate of IEEE P3109, Interim Report 4.0, 4.7.5 */
    HU_OVERFLOW_NONE       /* SatNone, ibid.; tables */
} hu_overflow;

/* What becomes of numbers below the smallest normal one where there are no subnormals. */
typedef enum hu_underflow {
    HU_UNDERFLOW_FLUSH,  /* rounded as if there were subnormals; what is then below becomes 0 */
    HU_UNDERFLOW_NEAREST /* rounded to 0 or the smallest normal number, whose distance is one
                            quantum */
} hu_underflow;

/* What becomes of a NaN. */
typedef enum hu_nan {
    HU_NAN_STAYS,    /* NaN, also where the format has no code for it */
    HU_NAN_OVERFLOWS /* what an infinity of its sign becomes; FIN only. Source: the released code of
                        Lee et al., which looks at exponents alone */
} hu_nan;

typedef enum hu_rounding {
    HU_ROUND_NEAREST_EVEN, /* rne */
    HU_ROUND_NEAREST_AWAY, /* rna */
    HU_ROUND_TOWARD_ZERO,  /* rz */
    HU_ROUND_UP,           /* ru: toward +infinity */
    HU_ROUND_DOWN,         /* rd: toward -infinity */
    HU_ROUND_TO_ODD,       /* rodd */
    HU_ROUND_STOCHASTIC,   /* sr */
    HU_ROUND_COUNT,
    HU_ROUND_BITS = 0xFF00,  /* the random bits of HU_ROUND_STOCHASTIC, see hu_rounding_of_bits */
    HU_ROUND_KIND = 0x30000, /* and what is done with them, hu_random_kind */
} hu_rounding;

/* How a stated number of random bits decides, P3109's StochasticA, B and C. Source: IEEE P3109,
 * Interim Report 4.0, 4.7.4. */
typedef enum hu_random_kind {
    HU_RANDOM_A, /* a: the discarded fraction is cut to the bits */
    HU_RANDOM_B, /* b: is rounded to them, ties up */
    HU_RANDOM_C, /* c: is rounded to them, ties to even */
    HU_RANDOM_COUNT
} hu_random_kind;

enum { HU_RANDOM_BITS_MOST = 32 };

/* A binary floating-point format, or a format by table (posits, takums, code books): 16 bytes of
 * plain data, compared with hu_format_equal.
 * A float's value of a code with fields s, E, M: E = 0: (-1)^s M 2^(1-bias-man_bits); else (-1)^s
 * (1 + M/2^man_bits) 2^(E-bias). Source: Popescu et al., section IV-A; Lee et al., FP(e,m,b).
 * A table's value of a code: 2^-bias times the table's number. Of a table exp_bits, man_bits,
 * underflow and nan are 0 and subnormals is 1; ask hu_format_bits and hu_format_limits_of. */
typedef struct hu_format {
    uint8_t exp_bits;   /* 1..8; 2..8 for IEEE specials; 8 goes with IEEE specials only */
    uint8_t man_bits;   /* 0..23 stored bits, without the hidden one; 1..23 for FN and FNUZ */
    uint8_t specials;   /* hu_specials */
    uint8_t subnormals; /* 1: represented; 0: there are none, see underflow */
    uint8_t overflow;   /* hu_overflow */
    uint8_t underflow;  /* hu_underflow; NEAREST only without subnormals */
    uint8_t nan;        /* hu_nan; OVERFLOWS only with FIN */
    uint8_t reserved;   /* zero */
    int32_t bias;       /* total exponent bias; default 2^(exp_bits-1)-1 */
    uint32_t table;     /* 0: a float; else the number that hu_format_parse gave to the table, in
                           this process */
} hu_format;

/* Derived numbers; exact, as float64. */
typedef struct hu_format_limits {
    int emin;          /* exponent of the smallest normal number, 1 - bias; of a table of its
                          smallest nonzero one */
    int emax;          /* exponent of the largest finite number */
    uint32_t code_max; /* magnitude code of the largest finite number; of a table its code */
    uint64_t codes;    /* distinct codes: 2^(1+e+m), 2^32 for fp32; of a table its lines */
    double max_finite;
    double min_normal;
    double min_subnormal; /* smallest nonzero; = min_normal if the format has no subnormals */
    double
        overflow_threshold; /* |x| at or above it overflows under nearest-even (above it for FN) */
    double underflow_threshold; /* |x| below it becomes 0 under nearest-even */
} hu_format_limits;

/* True if every field of a and b is equal. */
HU_API int hu_format_equal(const hu_format *a, const hu_format *b);

/* HU_OK if the format is in the space above and its values fit binary32 (emax <= 127, emin -
 * man_bits >= -149; of a table with bias other than 0, all numbers and boundaries are normal
 * there); else HU_ERR_FORMAT, the message naming the field, its value and its range. */
HU_API hu_status hu_format_check(const hu_format *format);

/* Reads a format's name ("fp16", "1/6/9/d", "fp(4,3,4)", "e4m3fn:ovf=sat",
 * "e5m2:bias=16:specials=fnuz"; case is ignored). Errors: HU_ERR_PARSE with the column (from 1) and
 * what was expected there; HU_ERR_UNKNOWN with the three nearest names; HU_ERR_FORMAT for values
 * outside the space. *format is zero on failure. */
HU_API hu_status hu_format_parse(const char *text, hu_format *format);

/* Bytes that hold every format's name. */
enum { HU_FORMAT_TEXT_BYTES = 160 };

/* Writes the canonical spelling, which parses back to the same format: its name in the table of
 * named formats, else fp(e,m,b) for saturating FIN formats with subnormals, else eXmY or a name
 * with options, whichever is shortest. text: capacity bytes, at least 64; a table of a file may
 * need HU_FORMAT_TEXT_BYTES (else HU_ERR_ARGUMENT). */
HU_API hu_status hu_format_print(const hu_format *format, char *text, uint32_t capacity);

/* The table of named formats: name of row index, its format and description (each may be NULL);
 * NULL after the last row. Borrowed: valid forever. */
HU_API uint32_t hu_format_named_count(void);
HU_API const char *hu_format_named(uint32_t index, hu_format *format, const char **description);

/* Bits of a code: 1 + exp_bits + man_bits; of a table as many as its last code needs. */
HU_API uint32_t hu_format_bits(const hu_format *format);

/* Limits; format must be valid. */
HU_API hu_format_limits hu_format_limits_of(const hu_format *format);

/* Stochastic rounding with `bits` random bits, 1..HU_RANDOM_BITS_MOST, of the kind ("sr:bits=8",
 * "sr:bits=8:kind=a"): HU_ROUND_STOCHASTIC in the low byte, bits and kind above it. Other
 * arguments: HU_ROUND_COUNT, which nothing takes. Proof: tests/unit/format_random_bits_test.c. */
HU_API hu_rounding hu_rounding_of_bits(uint32_t bits, hu_random_kind kind);

/* The mode without its random bits: less than HU_ROUND_COUNT, else HU_ROUND_COUNT. */
HU_API hu_rounding hu_rounding_mode(hu_rounding rounding);

/* The stated random bits of a mode, 0 where none are stated ("sr", which takes all 32), and what is
 * done with them. */
HU_API uint32_t hu_rounding_bits(hu_rounding rounding);
HU_API hu_random_kind hu_rounding_kind(hu_rounding rounding);

/* "rne", "rna", ..., "sr", "sr:bits=N" and "sr:bits=N:kind=a|b|c" (case is ignored; c is the usual
 * kind) -> hu_rounding. Unknown names: HU_ERR_UNKNOWN listing the names; options: HU_ERR_PARSE. */
HU_API hu_status hu_rounding_parse(const char *text, hu_rounding *rounding);

/* "rne", "rna", ..., "sr:bits=8:kind=a"; "?" for another value. Borrowed: valid forever. */
HU_API const char *hu_rounding_name(hu_rounding rounding);

/* Rounds one float32 by integer arithmetic alone: the definition of truth that every kernel must
 * equal bit for bit. format must be valid.
 *   random_word  32 random bits, used by HU_ROUND_STOCHASTIC only: with U = random_word / 2^32 and
 *                r the exact discarded fraction in units of the result's last place (of min_normal
 *                2^-man_bits below the smallest normal, with HU_UNDERFLOW_NEAREST of min_normal
 *                itself), the magnitude goes up iff U < r; an r < 2^-33 counts as 0.
 *                With N stated bits and T, the first N bits of random_word, it goes up iff
 *                T < floor(r 2^N) (a), T < floor(r 2^N + 1/2) (b), or T is less than r 2^N rounded
 *                to nearest-even (c): P3109's rule with the random integer R = 2^N - 1 - T
 * Overflow: a finite x whose rounded magnitude lies beyond the largest finite value becomes what
 * format->overflow says, except where the mode rounds inward (toward zero; up for x < 0; down for
 * x > 0) and for to-odd: those give the largest finite value. An infinite x always becomes what
 * format->overflow says: infinity, the largest finite value, or the NaN 0x7FC00000, each with the
 * sign of x; infinity and NaN also where the format has no code for them (the carrier has).
 * With PROPAGATE an infinite x stays, and a finite one gives the largest finite value.
 * NONE: docs/reference/numerics/tables.md, "Formats of IEEE P3109".
 * Without subnormals a nonzero result below min_normal becomes zero, sign kept, after rounding;
 * with HU_UNDERFLOW_NEAREST the quantum below min_normal is min_normal, in every mode. FNUZ: every
 * zero is +0. NaN in: NaN out, sign and payload kept, quiet bit set; with HU_NAN_OVERFLOWS what an
 * infinity with its sign gives. Source: docs/reference/numerics/formats.md, "Rounding". Proof:
 * tests/exhaustive/format_reference.c (against MPFR).
 * A table: neighbours are those of its list, boundaries and ties as it has them; to-odd takes the
 * neighbour whose code is odd; r = |x - a| / |b - a| between the neighbours a and b, a the one
 * nearer to 0; every zero is +0. Source: tables.md, "Formats by table". Proof:
 * tests/exhaustive/format_table.c (against MPFR).
 */
HU_API float hu_format_round(const hu_format *format, hu_rounding rounding, float x,
                             uint32_t random_word);

/* Code of a value that is already in the format (sign bit on top, right-aligned). Not in the
 * format, or an infinity or NaN that the format cannot encode: HU_ERR_FORMAT and *code = 0. NaN:
 * the quiet code with the largest fraction, sign kept (FNUZ: its one NaN). FNUZ: -0 gives code 0.
 */
HU_API hu_status hu_format_encode(const hu_format *format, float x, uint32_t *code);

/* Value of a code; every code has one. NaN codes: 0x7FC00000 with the code's sign (FNUZ: positive).
 * Codes below the smallest normal of a format without subnormals: zero with the code's sign (FNUZ:
 * +0). code >= codes: HU_ERR_ARGUMENT. */
HU_API hu_status hu_format_decode(const hu_format *format, uint32_t code, float *x);

#ifdef __cplusplus
}
#endif

#endif
