/* kernel/gemm/prove.c - why a cheap kernel gives the bits of the true one.
 *
 * Notation: m = man_bits, members = numbers of the format without its bounds (multiples of
 * 2^(emin-m) with at most m + 1 significant bits); R(t) is a member nearest to t; p = x y a
 * product, X >= |p| its bound, P its significant bits, 2^q its quantum; g = 2, or 4 where R's
 * argument was rounded to float32 before.
 *
 * 1. No overflow. If a is a member, R(a + p) is at least as near to a + p as a is, so it lies
 *    within 2|p| of a; with a float32 rounding between, which also has a among its candidates,
 *    within 4|p|. Hence |R(a + p)| <= |a| + g|p|, for subnormal results too.
 *      MACS: |R(p)| <= g X.   FMAC: |a| grows by at most g X per term, blocks of FMAC-K start at 0.
 *      MAC: |R(p)| <= g X, so |a| grows by at most g^2 X.
 *      Kahan: see kahan_bound().
 *    All arguments of R stay below the same bounds; R of an argument up to max_finite stays there.
 *
 * 2. LEAN. If 2^q >= 2^(emin-m), all p and members, hence all arguments, are multiples of
 *    2^(emin-m); those below 2^emin have at most m significant bits and survive a rounding to m + 1
 *    bits unchanged, so the bound of the subnormals' quantum is not needed.
 *
 * 3. Formats without subnormals. If every product since the start is a multiple of 2^emin, so is
 *    every accumulator (a rounded multiple of a power of two is one), and nothing nonzero lies
 *    below emin: nothing is ever flushed.
 *
 * 4. float32 arithmetic equals the exact one, with G = 24 (and float64 with G = 53, whose products
 *    of two float32 numbers are always exact and whose range is never left). Needs q >= -149, so
 *    that below 2^-126 every argument is a multiple of the least float32 number.
 *
 *    a) R(p): p itself is a float32: P <= G, |p| < 2^128.
 *
 *    b) Sums of two members: 2 (m + 1) + 1 <= G (innocuous double rounding; small results are
 *       exact). Overflow of the float32 sum is overflow of R.
 *
 *    c) Fused, all arguments exact: they are multiples of 2^q' (q' of all products so far) and
 *       bounded by 2^(q' + G).
 *
 *    d) Fused, t = a + p inexact. R errs only if the float32 nearest to t is a midpoint M of two
 *       members, t = M + d, 0 < |d| <= 2^(E-G), E the exponent of M. Members are at least
 *       2^(E'-m-1) from M, E' = max(E, emin).
 *
 *       i) p has bits at or below 2^(E-G). a is a member, so |p| >= 2^(E'-m-1) - |d|: p has
 *       exponent E'-m-1 or more and P >= G-m; or it is just below, P >= G-1-m, with equality only
 *       if its P bits are all ones, which no product of significands of s and P-s bits is. So
 *       P <= G-1-m excludes this.
 *
 *       ii) Only a has such bits: then E > emin (a is a multiple of 2^(emin-m)), a has exponent at
 *       most E-G+m and |p - M| = |d - a| <= 2^(E-G+m+1). If p is not M, and m <= (G-3)/2, its last
 *       bit is at most 2^(E-G+m+1) while its first is at least 2^E (M is 2^(E-m-1) or more above
 *       the edge): P >= G-m, excluded as before. If p = M, then P >= m + 2 and a = d: a nonzero
 *       accumulator at or below 2^(E-G), E at most the largest product's exponent.
 *
 *       So: P <= G-1-m, m <= (G-3)/2, and P <= m + 1 or no accumulator so far below the products.
 *       Other steps of Kahan are sums of members: b).
 *
 *    Where numbers below emin go to emin or to 0, 2^(emin-1) is the one midpoint there: members are
 *    farther from it than i) needs, and ii) excludes it (E > emin). Sums of two members below emin
 *    are multiples of 2^(emin-m), hence exact. Point 1 holds as it stands, and Kahan's bound with
 *    f / 2 for f.
 *
 * 5. Magic numbers of float32 kernels: m <= 21, -126 <= emin <= 104 + m (104 where the quantum
 * below emin is 2^emin), arguments below 2^(105+m) unless they overflow (kernel.h).
 *
 * 6. Steps of tensor cores. Let q be the least quantum of all products so far. Exponents of
 * products are at least q, so what alignment leaves are multiples of 2^(q-F), and so are
 * accumulators, which R and sums in float32 only round to coarser ones: the exponent of a nonzero
 * accumulator is at least q-F. float32 lanes hold powers and scales if q - F >= F - 126, factors
 * are multiples of 2^-126 (no subnormal ones), exponents stay below 2^126 and F <= 26; products are
 * exact if P <= 24. Results of LEAN are not subnormal if q-F >= emin: S 2^(e-F) is 0, a product's e
 * >= q, or it is the accumulator cut. FAST rounds the sum to odd first, then as 5. float64 lanes
 * hold everything if (K + 1) 2^(F+2) < 2^53. Growth as 1: R(a + p) with |p| <= K X, float32's
 * rounding of late sums too: g = 4.
 *
 * 7. Short rounding (step.inc, round_short), S = 2^s, s = G-1-m, 2 m + 2 < G-1: m <= 10 in float32,
 * all formats in float64. Let E be the exponent of t, q = 2^(E-m), T = S t / q, an integer of G
 * bits. p = RN((S - 1) t), r = S t - p.
 *
 *    a) (S-1)|t| >= 2^(E+s): p is a multiple of q nearest to T q - t, so r is one nearest to t.
 * Where t is a midpoint, T is even (s >= 2): the even choice for p is the even one for r. Below
 *    2^(E+s+1), hence |r| <= 2^(E+1) is exact.
 *
 *    b) Else (S-1)|t| is in the binade below, p is a multiple of q/2. Then |t| < 2^E / (1 - 1/S),
 *    that is |t| - 2^E < 1.01 2^(m-s) q < q/4: the multiple nearest to t is 2^E, as R's.
 *    (m = 11 errs here.) The other sign, (S + 1) t, would err at the other end of the binade.
 *
 *    c) |t| < 1.5 emin where R ends with the quantum of emin: x = 1.5 emin with t's sign for t in
 *    S x - t, which stays within one binade whose last place is that quantum; S x is 2^(G-1) 1.5 of
 *    them, even. From 1.5 emin on, x is t. Results of 0 are S x - S x = +0.
 *
 *    d) Where R does not end with it, t below emin is a multiple of 2^(emin-m): it has at most m
 *    bits and (S-1) t at most G: all is exact. That holds for sums of members in every class but
 *    those that flush. S t from the pattern of a t below 2^-126 is a number in 2^(s-127) ..
 *    2^(s-126); its last place, 2^(-127-m), divides t, so both differences are exact.
 *
 *    e) S |t| stays below 2^128: t as in 5.
 */
#include "kernel/gemm/prove.h"

#include <math.h>

#include "base/bits.h"
#include "format/value.h"
#include "kernel/gemm/kernel.h"

enum { F32_BITS = 24, F64_BITS = 53, F32_QUANTUM = -149, MAGIC_MAN_BITS = 21 };

/* Bounds are computed in float64; this covers its rounding errors. */
static const double slack = 1.0 + 0x1p-40;

int hu_panel_quantum(uint32_t low) {
    return low == UINT32_MAX ? HU_NO_QUANTUM : ilogb((double)hu_f32_of_bits(low + 1));
}

hu_panel_facts hu_panel_facts_of(const hu_pack_facts *seen) {
    hu_panel_facts facts = {
        .top = 0, .exponent = -HU_NO_QUANTUM, .quantum = HU_NO_QUANTUM, .significand = 0};
    if (seen->top == 0) return facts;
    if (seen->top >= HU_F32_INFINITY) {
        return (hu_panel_facts){(double)INFINITY, HU_NO_QUANTUM, -HU_NO_QUANTUM, 2 * F32_BITS};
    }
    facts.top = (double)hu_f32_of_bits(seen->top);
    facts.exponent = ilogb(facts.top);
    facts.quantum = hu_panel_quantum(seen->low);
    facts.significand = seen->fraction ? F32_BITS - __builtin_ctz(seen->fraction) : 1;
    return facts;
}

static bool is_binary32(const hu_format *format) {
    return format->exp_bits == 8 && format->man_bits == 23 && format->bias == 127;
}

void hu_gemm_prover_init(const hu_accumulator *accumulator, bool counting, hu_isa isa,
                         hu_gemm_prover *prover) {
    *prover = (hu_gemm_prover){.accumulator = *accumulator, .counting = counting};
    for (int i = 0; i < HU_GEMM_ARITHMETIC_COUNT; i++)
        prover->has_kernel[i] = hu_gemm_kernel_of(isa, accumulator->mac, (hu_gemm_arithmetic)i,
                                                  HU_GEMM_COUNT_ALL, HU_GEMM_WIDE)
                                    .run != NULL;
    if (accumulator->mac == HU_MAC_FMACS) return;
    hu_format_limits limits = hu_format_limits_of(&accumulator->format);
    prover->is_float32 = is_binary32(&accumulator->format);
    prover->man_bits = accumulator->format.man_bits;
    prover->emin = limits.emin;
    prover->max_finite = limits.max_finite;
    prover->max_magic = ldexp(1.0, 104 + prover->man_bits);
    bool is_nearest = accumulator->format.underflow == HU_UNDERFLOW_NEAREST;
    prover->can_magic = prover->man_bits <= MAGIC_MAN_BITS && limits.emin >= -126 &&
                        limits.emin <= 104 + (is_nearest ? 0 : prover->man_bits);
    prover->has_all_magic = prover->can_magic && limits.emax + 1 <= 104 + prover->man_bits;
}

static bool is_fused(hu_mac mac) {
    return mac == HU_MAC_FMAC || mac == HU_MAC_FMAC_K || mac == HU_MAC_KAHAN;
}

/* ---- 1: bounds ---- */

/* Relative error of one R, with the float32 rounding of its argument where there is one. */
static double unit_error(const hu_gemm_prover *p) {
    bool is_twice = p->accumulator.semantics != HU_SEMANTICS_EXACT;
    return 1.05 * ldexp(1.0, -p->man_bits - 1) + (is_twice ? 0x1p-24 : 0);
}

/* Kahan with u = unit_error <= 1/64, h = half the least subnormal, B a cap: as long as
 * |a - c| <= B and |c| <= 4 u B and X + h <= B / 40, every argument of R stays below 4 B:
 *   y = R(p - c): |y - (p - c)| <= u (X + |c|) + h, |y| <= 2 (X + |c| + h) =: Y
 *   t = R(a + y): error e1 <= u (B + |c| + Y); |t - a| <= 4 Y, a being a member (point 1)
 *   R(t - a): error e2 <= 4 u Y
 *   c' = R((t - a) - y) with argument e1 + e2: |c'| <= 2 u (B + |c| + 5 Y) <= 4 u B; error
 *        e3 <= u^2 (B + |c| + 5 Y) <= 2 u^2 B
 * and a - c grows by p and errors: t - c' = (a - c) + p + [u (X + |c|) + h] + e2 + e3, that is by
 * at most 1.15 (X + h) + 40 u^2 B. Without subnormals each R may also flush f = 2^emin: h = 4 f
 * holds those of y, e2 and e3, and f <= u B / 64 leaves |c'| <= 4 u B. Returns the bound of |a - c|
 * after k terms, infinite where the conditions fail or it exceeds B = limit / 4. */
static double kahan_bound(const hu_gemm_prover *p, double limit, double product, int64_t k,
                          const hu_gemm_reach *reach) {
    bool is_flushed = !p->accumulator.format.subnormals;
    double u = unit_error(p), cap = limit / 4;
    double h = ldexp(1.0, is_flushed ? p->emin + 2 : p->emin - p->man_bits - 1);
    double after = reach->sum + (double)k * (1.15 * (product + h) + 40 * u * u * cap);
    bool holds = u <= 1.0 / 64 && product + h <= cap / 40 && reach->extra <= 4 * u * cap &&
                 (!is_flushed || h <= u * cap / 16);
    return holds && after * slack <= cap ? after : (double)INFINITY;
}

/* Bounds of a tile's R, and what they become. */
typedef struct bounds {
    double argument; /* of R and its results; of Kahan: infinite or proved below the limit */
    hu_gemm_reach after;
} bounds;

/* g of point 1. */
static double growth(const hu_gemm_prover *p) {
    return p->accumulator.semantics != HU_SEMANTICS_EXACT ? 4 : 2;
}

/* FMAC-K. A block starts from 0, or from what earlier calls left of it; it has at most `block`
 * terms. Its sums in float32 (the master) need no bound. */
static bounds block_bounds(const hu_gemm_prover *p, double product, int64_t k, int64_t phase,
                           const hu_gemm_reach *reach) {
    int64_t block = p->accumulator.block;
    double start = phase > 0 ? reach->extra : 0, g = growth(p) * product;
    double argument = start + g * (double)(k < block ? k : block);
    double after = phase + k >= block || phase == 0 ? argument : start + g * (double)k;
    return (bounds){argument, {.sum = 0, .extra = after, .quantum = reach->quantum}};
}

/* Point 1 for every mode: the largest argument of R in these k terms, if none exceeds the limit,
 * and the reach after them. */
static bounds bounds_of(const hu_gemm_prover *p, double limit, double product, int64_t k,
                        int64_t phase, const hu_gemm_reach *reach) {
    double g = growth(p);
    bounds b = {.after = *reach};
    switch (p->accumulator.mac) {
    case HU_MAC_MACS:
        b.argument = g * product;
        break;
    case HU_MAC_FMAC_K:
        b = block_bounds(p, product, k, phase, reach);
        break;
    case HU_MAC_FMAC:
        b.argument = b.after.sum = reach->sum + g * product * (double)k;
        break;
    case HU_MAC_MAC:
        b.argument = b.after.sum = reach->sum + g * g * product * (double)k;
        break;
    default:
        b.after.sum = kahan_bound(p, limit, product, k, reach);
        b.after.extra = 4 * unit_error(p) * limit / 4;
        b.argument = b.after.sum <= limit ? 0 : (double)INFINITY;
    }
    b.argument *= slack;
    return b;
}

/* ---- 4: exactness ---- */

/* What 4 speaks of, for one tile. */
typedef struct terms {
    int bits;     /* P */
    int quantum;  /* q */
    int exponent; /* of the largest product */
    int state_quantum;
    double argument;
} terms;

/* 4 d), and c) for the modes whose arguments have a common quantum and a bound. */
static bool is_fused_exact(const hu_gemm_prover *p, const terms *t, int width) {
    int m = p->man_bits, least = p->emin - m;
    if (p->accumulator.mac != HU_MAC_KAHAN) {
        if (t->state_quantum >= F32_QUANTUM && t->argument < ldexp(1.0, width + t->state_quantum))
            return true;
        if (t->state_quantum > least) least = t->state_quantum;
    }
    if (t->bits > width - 1 - m || m > (width - 3) / 2) return false;
    return t->bits <= m + 1 || t->exponent - width < least;
}

/* Point 4 a) to d) for float32: whether R's argument in float32 loses nothing that R would see. */
static bool is_f32_exact(const hu_gemm_prover *p, const terms *t) {
    hu_mac mac = p->accumulator.mac;
    if (t->quantum < F32_QUANTUM) return false;
    if (is_fused(mac))
        return is_fused_exact(p, t, F32_BITS) &&
               (mac != HU_MAC_KAHAN || 2 * p->man_bits + 3 <= F32_BITS);
    if (t->bits > F32_BITS || t->exponent > 126) return false;
    return mac == HU_MAC_MACS || 2 * p->man_bits + 3 <= F32_BITS;
}

/* ---- the choice ---- */

/* Points 1 to 3: the least of R that these terms need. */
static hu_gemm_class class_of(const hu_gemm_prover *p, const terms *t, bool is_bounded) {
    int unflushed = p->accumulator.format.subnormals ? p->emin - p->man_bits : p->emin;
    if (p->counting && p->accumulator.mac != HU_MAC_MACS) return HU_GEMM_COUNT_ALL;
    if (!is_bounded) return HU_GEMM_FULL;
    if (!p->accumulator.format.subnormals && p->accumulator.mac != HU_MAC_MACS)
        return t->state_quantum >= unflushed ? HU_GEMM_LEAN : HU_GEMM_FULL;
    if (!p->accumulator.format.subnormals)
        return t->quantum >= unflushed ? HU_GEMM_LEAN : HU_GEMM_FULL;
    return t->quantum >= unflushed ? HU_GEMM_LEAN : HU_GEMM_FAST;
}

/* float64 serves every format; only fused steps may need to be rounded to odd. */
static hu_gemm_choice choose_f64(const hu_gemm_prover *p, const terms *t, bool is_bounded) {
    bool is_plain = !is_fused(p->accumulator.mac) || is_fused_exact(p, t, F64_BITS);
    return (hu_gemm_choice){.arithmetic = is_plain ? HU_GEMM_F64 : HU_GEMM_F64_ODD,
                            .class = class_of(p, t, is_bounded)};
}

/* Point 7. */
static hu_gemm_class short_class(const hu_gemm_prover *p, hu_gemm_class class) {
    if (p->man_bits > HU_GEMM_SHORT_BITS) return class;
    if (class == HU_GEMM_LEAN) return HU_GEMM_SHORT_LEAN;
    return class == HU_GEMM_FAST ? HU_GEMM_SHORT_FAST : class;
}

/* The float32 kernels: whether one serves, and which. */
static bool choose_f32(const hu_gemm_prover *p, const terms *t, bool is_bounded,
                       hu_gemm_choice *choice) {
    bool is_exact = p->accumulator.semantics == HU_SEMANTICS_EXACT || p->is_float32;
    if (!p->can_magic || (!is_bounded && !p->has_all_magic)) return false;
    choice->class = short_class(p, class_of(p, t, is_bounded));
    choice->arithmetic = HU_GEMM_F32;
    if (!is_exact || is_f32_exact(p, t)) return true;
    choice->arithmetic = HU_GEMM_F32_ODD;
    return p->has_kernel[HU_GEMM_F32_ODD];
}

/* Bits, quantum and exponent of products of a's and b's numbers. */
static terms terms_of(const hu_panel_facts *a, const hu_panel_facts *b, double argument,
                      int state_quantum) {
    return (terms){.bits = a->significand + b->significand,
                   .quantum = a->quantum + b->quantum,
                   .exponent = a->exponent + b->exponent + 1,
                   .state_quantum = state_quantum,
                   .argument = argument};
}

/* ---- tensor cores ---- */

enum { CORE_F32_BITS = 26, CORE_F64_BITS = 53, CORE_TOP = 125 };

static int larger(int a, int b) {
    return a > b ? a : b;
}

/* Point 6 for float32 lanes; quantum: of all accumulators. */
static bool is_core_f32(const hu_gemm_prover *p, const hu_panel_facts *a, const hu_panel_facts *b,
                        int quantum, double argument) {
    const hu_accumulator *core = &p->accumulator;
    int top =
        larger(a->exponent, core->least_exponent[0]) + larger(b->exponent, core->least_exponent[1]);
    return core->align_bits <= CORE_F32_BITS && a->significand + b->significand <= F32_BITS &&
           a->quantum >= -126 && b->quantum >= -126 && quantum >= core->align_bits - 126 &&
           top <= CORE_TOP - 1 && core->least_exponent[0] >= -126 &&
           core->least_exponent[1] >= -126 && argument <= ldexp(1.0, CORE_TOP) &&
           argument <= p->max_finite;
}

static hu_gemm_choice choose_core(const hu_gemm_prover *p, const hu_panel_facts *a,
                                  const hu_panel_facts *b, int quantum, double argument) {
    const hu_accumulator *core = &p->accumulator;
    hu_gemm_choice choice = {.arithmetic = HU_GEMM_F32,
                             .class = p->counting ? HU_GEMM_COUNT_ALL : HU_GEMM_FULL};
    bool fits_f64 =
        ((double)core->block + 1) * ldexp(1.0, core->align_bits + 2) < ldexp(1.0, CORE_F64_BITS);
    if (is_core_f32(p, a, b, quantum, argument)) {
        bool fits = core->block <= (INT64_C(1) << (29 - core->align_bits)) - 1;
        bool cuts = core->rounding == HU_ROUND_TOWARD_ZERO;
        if (!fits || p->counting) return choice;
        if (cuts && quantum >= p->emin) choice.class = HU_GEMM_LEAN;
        if (!cuts && p->can_magic && argument <= p->max_magic) choice.class = HU_GEMM_FAST;
        return choice;
    }
    choice.arithmetic = HU_GEMM_F64;
    choice.is_slow = !fits_f64;
    return choice;
}

/* The kernel of k terms, and the reach after them; factors are finite. */
static hu_gemm_choice prove_core(const hu_gemm_prover *p, const hu_panel_facts *a,
                                 const hu_panel_facts *b, int64_t k, int64_t phase,
                                 hu_gemm_reach *reach) {
    int64_t promote = p->accumulator.promote, most = promote && promote < k ? promote : k;
    double start = promote && phase == 0 ? 0 : reach->extra, product = a->top * b->top;
    int quantum = a->quantum + b->quantum - p->accumulator.align_bits;
    if (quantum < reach->quantum) reach->quantum = quantum;
    double argument = (start + 4 * product * (double)most) * slack;
    hu_gemm_choice choice = choose_core(p, a, b, reach->quantum, argument);
    reach->extra = argument;
    return choice;
}

hu_gemm_choice hu_gemm_prove(const hu_gemm_prover *p, const hu_panel_facts *a,
                             const hu_panel_facts *b, int64_t k, int64_t phase,
                             hu_gemm_reach *reach) {
    hu_gemm_choice choice = {.arithmetic = HU_GEMM_F32, .class = HU_GEMM_LEAN};
    if (p->accumulator.mac == HU_MAC_FMACS) return choice;
    if (p->accumulator.mac == HU_MAC_TC && !isinf(a->top) && !isinf(b->top))
        return prove_core(p, a, b, k, phase, reach);
    double product = a->top * b->top;
    int quantum = a->quantum + b->quantum;
    /* Sums of multiples of 2^q are multiples of it: the least quantum of all products so far holds.
     */
    if (quantum < reach->quantum) reach->quantum = quantum;
    if (isinf(a->top) || isinf(b->top)) {
        *reach = (hu_gemm_reach){(double)INFINITY, (double)INFINITY, -HU_NO_QUANTUM};
        return (hu_gemm_choice){.is_slow = true};
    }
    /* The cheapest first: float32, with R's argument below both the magic numbers' and the format's
     * limit. */
    double magic = p->max_magic < p->max_finite ? p->max_magic : p->max_finite;
    bounds narrow = bounds_of(p, magic, product, k, phase, reach);
    terms t = terms_of(a, b, narrow.argument, reach->quantum);
    if (choose_f32(p, &t, narrow.argument <= magic, &choice)) {
        *reach = narrow.after;
        return choice;
    }
    /* f32fma and cpd are defined by float32 operations: float64 would give other bits. */
    if (p->accumulator.semantics != HU_SEMANTICS_EXACT && !p->is_float32) {
        *reach = narrow.after;
        return (hu_gemm_choice){.is_slow = true};
    }
    bounds wide = bounds_of(p, p->max_finite, product, k, phase, reach);
    choice = choose_f64(p, &t, wide.argument <= p->max_finite);
    *reach = wide.after;
    return choice;
}

bool hu_gemm_wants_slices(const hu_gemm_prover *p) {
    hu_mac mac = p->accumulator.mac;
    return mac != HU_MAC_FMACS && mac != HU_MAC_TC && !p->counting &&
           p->accumulator.format.subnormals;
}

static int slice_quantum(const hu_unit_facts *facts, int64_t slice) {
    return facts->has_slices ? facts->quantum[slice] : facts->all.quantum;
}

/* Point 2, slice by slice: accumulators are members. A short stretch is not worth its call. */
int64_t hu_gemm_lean_slices(const hu_gemm_prover *p, const hu_unit_facts *a, const hu_unit_facts *b,
                            int64_t k, bool is_lean[HU_PANEL_SLICES]) {
    enum { WORTH_SLICES = 4 };
    const int64_t slices = (k + HU_SLICE_TERMS - 1) / HU_SLICE_TERMS;
    int64_t count = 0, start = 0;
    for (int64_t s = 0; s <= slices; s++) {
        if (s < slices && slice_quantum(a, s) + slice_quantum(b, s) >= p->emin - p->man_bits)
            continue;
        const bool is_worth = s - start >= WORTH_SLICES;
        for (int64_t i = start; i < s; i++) is_lean[i] = is_worth;
        if (is_worth) count += s - start;
        if (s < slices) is_lean[s] = false;
        start = s + 1;
    }
    return count;
}

hu_gemm_reach hu_gemm_reach_of(const hu_gemm_prover *p, const hu_panel_facts *sum,
                               const hu_panel_facts *extra) {
    int quantum = sum->quantum < extra->quantum ? sum->quantum : extra->quantum;
    switch (p->accumulator.mac) {
    case HU_MAC_FMAC:
    case HU_MAC_KAHAN:
    case HU_MAC_KAHAN_CPD:
        return (hu_gemm_reach){sum->top + extra->top, extra->top, quantum};
    case HU_MAC_FMAC_K:
        return (hu_gemm_reach){0, extra->top, extra->quantum};
    case HU_MAC_TC: /* kernels keep the accumulator in extra */
        return (hu_gemm_reach){0, extra->top, extra->quantum};
    default:
        return (hu_gemm_reach){sum->top, 0, sum->quantum};
    }
}
