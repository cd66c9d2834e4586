#include "format/table/steps.h"

#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/memory.h"
#include "format/table/bytes.h"
#include "format/table/register.h"

/* ---- thresholds, in the order of numbers ---- */

/* Bits of float32 as integers that ascend with the numbers; -0 just below 0. */
static int32_t key_of(float x) {
    uint32_t bits = hu_f32_bits(x);
    return (int32_t)(bits & HU_F32_SIGN ? bits ^ ~HU_F32_SIGN : bits);
}

static float of_key(int32_t key) {
    uint32_t bits = (uint32_t)key;
    return hu_f32_of_bits(bits & HU_F32_SIGN ? bits ^ ~HU_F32_SIGN : bits);
}

static bool goes_up(const hu_code_table *t, hu_rounding rounding, uint32_t gap, int32_t key) {
    hu_wide x = hu_wide_of_double((double)of_key(key));
    if (x.significand == 0) x.is_negative = false;
    return hu_code_table_goes_up(t, rounding, gap, &x);
}

/* Least key that goes up from number gap - 1 to number gap. */
static int32_t threshold_of(const hu_code_table *t, hu_rounding rounding, uint32_t gap) {
    int32_t low = gap == 0 ? key_of(-INFINITY) : key_of(t->number[gap - 1]);
    int32_t high = gap == t->count ? key_of(INFINITY) : key_of(t->number[gap]);
    if (gap < t->count && high == 0) high = -1; /* -0 is 0 */
    while (high - 1 > low) {
        int32_t middle = (int32_t)(low + ((int64_t)high - low) / 2);
        if (goes_up(t, rounding, gap, middle))
            high = middle;
        else
            low = middle;
    }
    return high;
}

/* ---- slots ---- */

static hu_status allocate(const hu_code_table *t, hu_code_steps *s) {
    hu_status st = HU_OK;
    size_t most = (size_t)t->count + 4; /* 0 and two overflows */
    HU_TRY(HU_NEW_ARRAY(&s->number, most));
    HU_TRY(HU_NEW_ARRAY(&s->code, most));
    HU_TRY(HU_NEW_ARRAY(&s->threshold, most));
done:
    return st;
}

/* Slot of number `place`; beyond the ends of the last one. */
static void add_slot(const hu_code_table *t, hu_code_steps *s, int64_t place) {
    if (place < 0) place = 0;
    if (place >= t->count) place = (int64_t)t->count - 1;
    s->number[s->slots] = hu_f32_bits(t->number[place]);
    s->code[s->slots++] = t->code[place];
}

/* Both lists from keys [count + 1]; `places` of the numbers that +0 and -0 become, -1 and count
 * being overflow. From number gap - 1 to gap at key up; to gap - 1 from gap at magnitude -up. */
static void lay_out(const hu_code_table *t, const int32_t *keys, const int64_t places[2],
                    hu_code_steps *s) {
    s->first[0] = s->slots;
    add_slot(t, s, places[0]);
    for (int64_t gap = places[0] + 1; gap <= t->count; gap++) {
        s->threshold[s->slots - 1] = (uint32_t)keys[gap];
        add_slot(t, s, gap);
    }
    s->last[0] = s->slots - 1;
    s->first[1] = s->slots;
    add_slot(t, s, places[1]);
    for (int64_t gap = places[1]; gap >= 0; gap--) {
        s->threshold[s->slots - 1] = (uint32_t)-keys[gap];
        add_slot(t, s, gap - 1);
    }
    s->last[1] = s->slots - 1;
}

/* Deterministic modes. */
static void step_down(const hu_code_table *t, hu_rounding rounding, int32_t *keys,
                      hu_code_steps *s) {
    int64_t place = -1;
    for (uint32_t gap = 0; gap <= t->count; gap++) {
        keys[gap] = threshold_of(t, rounding, gap);
        if (keys[gap] <= 0) place = gap;
    }
    lay_out(t, keys, (int64_t[]){place, place}, s);
}

/* Where float32 has the number beyond the end, its bits; else those of infinity. */
static uint32_t next_bits(const hu_code_table *t, int end) {
    float next = fabs(t->next[end]) <= FLT_MAX ? (float)t->next[end] : INFINITY;
    return (double)next == t->next[end] ? hu_f32_bits(next) : HU_F32_INFINITY;
}

/* Towards 0 everywhere; overflow from the number on that would come next. */
static void step_inward(const hu_code_table *t, int32_t *keys, hu_code_steps *s) {
    int64_t below = (int64_t)t->first_positive - 1, above = t->first_positive;
    uint32_t next[2] = {next_bits(t, 0) & ~HU_F32_SIGN, next_bits(t, 1)};
    if (t->has_zero) above = below;
    keys[0] = -(int32_t)next[0];
    for (uint32_t gap = 1; gap < t->count; gap++)
        keys[gap] =
            gap >= t->first_positive ? key_of(t->number[gap]) : key_of(t->number[gap - 1]) + 1;
    keys[t->count] = (int32_t)next[1];
    lay_out(t, keys, (int64_t[]){below, above}, s);
    s->number[s->last[0]] = next[1];
    s->number[s->last[1]] = next[0] | HU_F32_SIGN;
    s->is_exact_there = next[0] < HU_F32_INFINITY && next[1] < HU_F32_INFINITY;
}

/* ---- finding a slot ---- */

enum { FRACTION = 23, LEAST_SHIFT = 18 };
#define FIELD (1u << FRACTION)
#define ENTRIES_MOST (1u << 20)

/* Largest shift, at most FRACTION, with which no bucket has two of the thresholds begin..end-1
 * strictly inside: one at its beginning decides its slot there. Pairs below `low` do not count. */
static uint32_t shift_for(const hu_code_steps *s, uint32_t begin, uint32_t end, uint32_t low) {
    uint32_t least = FRACTION;
    for (uint32_t i = begin; i + 1 < end; i++) {
        uint32_t a = s->threshold[i], b = s->threshold[i + 1];
        uint32_t apart = 31 - (uint32_t)__builtin_clz(a ^ b);
        uint32_t whole = a ? (uint32_t)__builtin_ctz(a) : FRACTION;
        uint32_t limit = apart > whole ? apart : whole;
        if (b >= low && limit < least) least = limit;
    }
    return least;
}

static hu_status make_direct(hu_code_steps *s) {
    uint32_t buckets = 1u << (32 - s->shift), half = buckets / 2, mask = (1u << s->shift) - 1;
    hu_status st = HU_NEW_ARRAY(&s->word, buckets);
    if (st != HU_OK) return st;
    for (uint32_t i = 0; i < buckets; i++) {
        int list = i >= half;
        uint32_t from = (i - (list ? half : 0)) << s->shift;
        uint32_t slot = hu_code_slot_in(s, list, from);
        /* The next slot from the threshold on: one more than the bits that do not exceed t. */
        bool has_step = slot < s->last[list] && s->threshold[slot] <= (from | mask);
        uint32_t t = has_step ? (s->threshold[slot] & mask) - 1 : mask;
        s->word[i] = slot << s->shift | t;
    }
    return HU_OK;
}

/* Rows of sign and exponent, each with a shift of its own. */
static bool plan_rows(hu_code_steps *s, uint32_t *entries) {
    enum { FINEST = 8 };
    *entries = 0;
    for (uint32_t row = 0; row < 512; row++) {
        int list = row >= 256;
        uint32_t from = (row & 255) << FRACTION;
        uint32_t begin = hu_code_slot_in(s, list, from),
                 end = hu_code_slot_in(s, list, from + (FIELD - 1));
        uint32_t shift = shift_for(s, begin, end, 0);
        if (from == 0 && shift < FINEST) s->calm_low = FIELD, shift = FRACTION;
        s->row[row] = *entries << 5 | shift;
        *entries += FIELD >> shift;
        if (*entries > ENTRIES_MOST) return false;
    }
    return true;
}

static hu_status make_indexed(hu_code_steps *s, bool *is_made) {
    hu_status st = HU_OK;
    uint32_t entries;
    HU_TRY(HU_NEW_ARRAY(&s->row, 512));
    *is_made = plan_rows(s, &entries);
    if (!*is_made) return HU_OK;
    HU_TRY(HU_NEW_ARRAY(&s->slot_at, entries));
    HU_TRY(HU_NEW_ARRAY(&s->threshold_at, entries));
    for (uint32_t row = 0; row < 512; row++) {
        int list = row >= 256;
        uint32_t shift = s->row[row] & 31, at = s->row[row] >> 5;
        for (uint32_t i = 0; i < FIELD >> shift; i++, at++) {
            uint32_t slot = hu_code_slot_in(s, list, (row & 255) << FRACTION | i << shift);
            s->slot_at[at] = slot;
            s->threshold_at[at] = slot < s->last[list] ? s->threshold[slot] : UINT32_MAX;
        }
    }
done:
    return st;
}

/* The shift of DIRECT for both lists. */
static uint32_t direct_shift(const hu_code_steps *s, uint32_t low) {
    uint32_t plus = shift_for(s, s->first[0], s->last[0], low);
    uint32_t minus = shift_for(s, s->first[1], s->last[1], low);
    return plus < minus ? plus : minus;
}

static hu_status choose_route(hu_code_steps *s) {
    enum { TINY = 1 << 20 }; /* of the first bucket: below the normal numbers */
    hu_status st = HU_OK;
    bool is_made;
    s->shift = direct_shift(s, 0);
    if (s->shift < LEAST_SHIFT) {
        s->shift = direct_shift(s, TINY);
        if (s->shift > 20) s->shift = 20;
        s->calm_low = TINY;
    }
    if (s->shift >= LEAST_SHIFT && s->slots >> (32 - s->shift) == 0) {
        s->route = HU_STEPS_DIRECT;
        return make_direct(s);
    }
    s->calm_low = 0;
    HU_TRY(make_indexed(s, &is_made));
    s->route = is_made ? HU_STEPS_INDEXED : HU_STEPS_SEARCH;
done:
    return st;
}

/* ---- members ---- */

enum { MEMBER_SHIFT = 16, MEMBER_BITS = 15 };
#define LEAST_NORMAL (1u << FRACTION)

/* Largest shift that tells neighbouring numbers apart, those below the normal ones left out. */
static uint32_t member_shift(const hu_code_table *t) {
    uint32_t shift = FRACTION;
    for (uint32_t i = 1; i < t->count; i++) {
        uint32_t a = hu_f32_bits(t->number[i - 1]), b = hu_f32_bits(t->number[i]);
        bool is_small = (a & ~HU_F32_SIGN) < LEAST_NORMAL || (b & ~HU_F32_SIGN) < LEAST_NORMAL;
        if (is_small || (a ^ b) >> 31) continue;
        while (a >> shift == b >> shift) shift--;
    }
    return shift;
}

/* Whether numbers below the normal ones are only 0: then both zeros need no question. */
static bool has_small(const hu_code_table *t) {
    for (uint32_t i = 0; i < t->count; i++)
        if (t->number[i] != 0 && fabsf(t->number[i]) < FLT_MIN) return true;
    return false;
}

/* Of a beginning that no number has: the code of one near it, which nobody asks for; but what is
 * not finite, and numbers below the normal ones where there are others than 0, are asked for. */
static uint16_t code_within(const hu_code_table *t, const hu_code_steps *s, uint32_t bits) {
    uint32_t u = bits & ~HU_F32_SIGN;
    bool is_asked = u >= HU_F32_INFINITY || (u < LEAST_NORMAL && has_small(t));
    if (u < LEAST_NORMAL) u = 0;
    return is_asked ? HU_MEMBER_ASK : (uint16_t)s->code[hu_code_slot_in(s, bits >> 31 != 0, u)];
}

/* What rounding to nearest has made is its own nearest number. */
static hu_status make_members(const hu_code_table *t, hu_code_steps *s) {
    hu_status st = HU_OK;
    s->member_shift = member_shift(t);
    if (s->member_shift < MEMBER_SHIFT || t->bits > MEMBER_BITS) return HU_OK;
    uint32_t entries = 1u << (32 - s->member_shift);
    HU_TRY(HU_NEW_ARRAY(&s->member, entries));
    for (uint32_t i = 0; i < entries; i++) s->member[i] = code_within(t, s, i << s->member_shift);
    for (uint32_t i = 0; i < t->count; i++) {
        uint32_t bits = hu_f32_bits(t->number[i]);
        if ((bits & ~HU_F32_SIGN) >= LEAST_NORMAL)
            s->member[bits >> s->member_shift] = (uint16_t)t->code[i];
    }
done:
    return st;
}

/* ---- the steps of a mode ---- */

/* Exact in double: 24 bits each, exponents not far apart; 0 is exact beside any, and nothing
 * crosses it. */
static bool are_exact(const hu_code_table *t) {
    enum { APART = 28 };
    for (uint32_t i = 1; i < t->count; i++) {
        float a = t->number[i - 1], b = t->number[i];
        if (a == 0 || b == 0) continue;
        int distance = ilogbf(a) - ilogbf(b);
        if (distance > APART || distance < -APART) return false;
    }
    return t->has_zero;
}

/* From the last threshold of a list on numbers overflow; rounded stochastically from the one before
 * on, its last number, they may. */
static void set_calm(const hu_code_table *t, hu_rounding rounding, hu_code_steps *s) {
    uint32_t plus = s->last[0] > s->first[0] ? s->threshold[s->last[0] - 1] : 0;
    uint32_t minus = s->last[1] > s->first[1] ? s->threshold[s->last[1] - 1] : 0;
    if (hu_rounding_mode(rounding) == HU_ROUND_STOCHASTIC) {
        float low = t->number[0], high = t->number[t->count - 1];
        plus = high >= 0 ? hu_f32_bits(high) + 1 : 0;
        minus = low <= 0 ? (hu_f32_bits(low) & ~HU_F32_SIGN) + 1 : 0;
    }
    s->calm_top = plus < minus ? plus : minus;
}

/* As the table's own blocks. */
static void keep(hu_code_steps *s) {
    void *const all[] = {s->number, s->code,    s->threshold,    s->word,
                         s->row,    s->slot_at, s->threshold_at, s->member,
                         s->high,   s->low,     s->slot_high,    s->slot_low,
                         s->byte,   s->bytes,   s->members,      s};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) hu_memory_keep(all[i]);
}

static void free_steps(hu_code_steps *s) {
    if (!s) return;
    hu_free(s->number);
    hu_free(s->code);
    hu_free(s->threshold);
    hu_free(s->word);
    hu_free(s->row);
    hu_free(s->slot_at);
    hu_free(s->threshold_at);
    hu_free(s->member);
    hu_free(s->high);
    hu_free(s->low);
    hu_free(s->slot_high);
    hu_free(s->slot_low);
    hu_free(s->byte);
    hu_free(s->bytes);
    hu_free(s->members);
    hu_free(s);
}

static hu_status make_steps(const hu_code_table *t, hu_rounding rounding, hu_code_steps **steps) {
    hu_status st = HU_OK;
    int32_t *keys = NULL;
    hu_code_steps *s = NULL;
    HU_TRY(HU_NEW(&s));
    HU_TRY(HU_NEW_ARRAY(&keys, (size_t)t->count + 1));
    HU_TRY(allocate(t, s));
    if (hu_rounding_mode(rounding) == HU_ROUND_STOCHASTIC)
        step_inward(t, keys, s);
    else
        step_down(t, rounding, keys, s);
    set_calm(t, rounding, s);
    s->is_exact = are_exact(t);
    HU_TRY(choose_route(s));
    if (rounding == HU_ROUND_NEAREST_EVEN) HU_TRY(make_members(t, s));
    HU_TRY(hu_code_slots_add_patterns(t, s));
    HU_TRY(hu_code_bytes_make(t, s, false, &s->bytes));
    if (rounding == HU_ROUND_NEAREST_EVEN) HU_TRY(hu_code_bytes_make(t, s, true, &s->members));
    *steps = s;
    s = NULL;
done:
    hu_free(keys);
    free_steps(s);
    return st;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

hu_status hu_code_steps_of(const hu_format *format, hu_rounding rounding,
                           const hu_code_steps **steps) {
    /* Random bits decide between neighbours; the neighbours are those of all stochastic modes. */
    rounding = hu_rounding_mode(rounding);
    hu_code_table *t = hu_code_register_at(format->table);
    hu_code_steps *made = atomic_load_explicit(&t->steps[rounding], memory_order_acquire);
    hu_status st = HU_OK;
    if (made) {
        *steps = made;
        return HU_OK;
    }
    pthread_mutex_lock(&lock);
    made = atomic_load_explicit(&t->steps[rounding], memory_order_acquire);
    if (!made) st = make_steps(t, rounding, &made);
    if (st == HU_OK) keep(made);
    if (st == HU_OK) atomic_store_explicit(&t->steps[rounding], made, memory_order_release);
    pthread_mutex_unlock(&lock);
    *steps = made;
    return st;
}
