#include "format/table/bytes.h"

#include <math.h>
#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "base/memory.h"

enum { FRACTION = 23, MOST_SHARES = 7, FIELDS = 255, NONE = 255, FIRST_BITS = 16 };
#define LEAST_NORMAL (1u << FRACTION)

/* The table that is being made: what has the exponent field `field` in a list has 2^shares[field]
 * buckets; constant[s]: the place of what is of slot s and has no threshold, -1: none yet. */
typedef struct maker {
    const hu_code_table *table;
    const hu_code_steps *steps;
    hu_code_bytes *to;
    uint8_t shares[2][FIELDS];
    int32_t constant[HU_BYTE_WORDS];
    uint32_t used; /* places */
} maker;

/* Slot of a magnitude, from the first of the list on. */
static uint32_t slot_of(const maker *m, int list, uint32_t magnitude) {
    return hu_code_slot_in(m->steps, list, magnitude) - m->steps->first[list];
}

static const uint32_t *thresholds(const maker *m, int list) {
    return m->steps->threshold + m->steps->first[list];
}

/* Whether no bucket of `size` has more than two of the thresholds begin..end-1 inside: those at its
 * beginning decide its first slot. */
static bool are_apart(const uint32_t *t, uint32_t begin, uint32_t end, uint32_t size) {
    for (uint32_t i = begin; i + HU_BYTE_THRESHOLDS < end; i++) {
        bool is_inside = (t[i] & (size - 1)) != 0;
        if (is_inside && t[i] / size == t[i + HU_BYTE_THRESHOLDS] / size) return false;
    }
    return true;
}

/* false: 2^7 buckets are not enough. */
static bool set_shares(maker *m, int list) {
    for (uint32_t field = 1; field < FIELDS; field++) {
        uint32_t from = field << FRACTION, shares = 0;
        uint32_t begin = slot_of(m, list, from), end = slot_of(m, list, from | (LEAST_NORMAL - 1));
        while (!are_apart(thresholds(m, list), begin, end, LEAST_NORMAL >> shares))
            if (++shares > MOST_SHARES) return false;
        m->shares[list][field] = (uint8_t)shares;
    }
    return true;
}

/* Whether something is in the way of two bytes for a threshold of bits t. */
static bool is_deep(uint32_t t) {
    return (t & ((1u << FIRST_BITS) - 1)) > 1;
}

static void set_threshold(hu_code_bytes *to, uint32_t which, uint32_t place, uint32_t t) {
    uint32_t first = t >> (FIRST_BITS - 1) & 0xfe;
    to->above[which][0][place] = (uint8_t)(to->is_deep ? first : first + (t & 1) - 1);
    to->above[which][1][place] = (uint8_t)(t >> 8);
}

/* The bucket of `size` from a magnitude on. */
static void fill_place(maker *m, int list, uint32_t place, uint32_t from, uint32_t size) {
    const uint32_t *t = thresholds(m, list);
    uint32_t begin = slot_of(m, list, from), end = slot_of(m, list, from + size - 1);
    m->to->slot[place] = (uint8_t)begin;
    for (uint32_t which = 0; which < HU_BYTE_THRESHOLDS; which++)
        if (begin + which < end)
            set_threshold(m->to, which, place, t[begin + which]);
        else
            m->to->above[which][0][place] = NONE;
}

/* The next 2^shares places, which differ in the bits of the mask that the fraction is at. Blocks of
 * falling size fill each half without a gap: place number q is q with its bits reversed. */
static uint32_t take_places(maker *m, uint32_t shares) {
    uint32_t at = m->used % HU_BYTE_NARROW >> shares, reversed = 0;
    for (uint32_t i = 0; i < MOST_SHARES - shares; i++)
        reversed |= (at >> i & 1) << (MOST_SHARES - shares - 1 - i);
    uint32_t half = m->used / HU_BYTE_NARROW * HU_BYTE_NARROW;
    m->used += 1u << shares;
    return half | reversed;
}

/* The place of what is of one slot; places beyond the last are not written. */
static uint8_t constant_place(maker *m, int list, uint32_t magnitude) {
    uint32_t slot = slot_of(m, list, magnitude);
    if (m->constant[slot] < 0) {
        m->constant[slot] = (int32_t)take_places(m, 0);
        if (m->used <= HU_BYTE_WORDS)
            fill_place(m, list, (uint32_t)m->constant[slot], magnitude, 1);
    }
    return (uint8_t)m->constant[slot];
}

static void place_field(maker *m, int list, uint32_t field) {
    uint32_t shares = m->shares[list][field], from = field << FRACTION;
    uint32_t size = LEAST_NORMAL >> shares, place;
    uint8_t *to = &m->to->place[list][HU_BYTE_FIELD + field];
    if (slot_of(m, list, from) == slot_of(m, list, from | (LEAST_NORMAL - 1))) {
        *to = constant_place(m, list, from);
        return;
    }
    place = take_places(m, shares);
    if (m->used > HU_BYTE_WORDS) return;
    *to = (uint8_t)place;
    m->to->mask[place] = (uint8_t)(HU_BYTE_NARROW - (HU_BYTE_NARROW >> shares));
    for (uint32_t i = 0; i < 1u << shares; i++)
        fill_place(m, list, place ^ i << (MOST_SHARES - shares), from + i * size, size);
}

/* What is below and above all fields. */
static void place_ends(maker *m, int list) {
    uint8_t *place = m->to->place[list];
    const uint32_t largest = HU_F32_INFINITY - 1;
    m->to->zero_place[list] = constant_place(m, list, 0);
    memset(place, constant_place(m, list, 1), HU_BYTE_FIELD + 1);
    memset(place + HU_BYTE_FIELD + FIELDS, constant_place(m, list, largest),
           HU_BYTE_FIELDS - HU_BYTE_FIELD - FIELDS);
}

static bool place_all(maker *m, int lists) {
    for (int shares = MOST_SHARES; shares >= 0; shares--)
        for (int list = 0; list < lists; list++)
            for (uint32_t field = 1; field < FIELDS; field++)
                if (m->shares[list][field] == shares) place_field(m, list, field);
    for (int list = 0; list < lists; list++) place_ends(m, list);
    return m->used <= HU_BYTE_WORDS;
}

/* ---- slots ---- */

static uint32_t slots_of(const hu_code_steps *s, int list) {
    return s->last[list] - s->first[list];
}

static bool are_alike(const hu_code_steps *s) {
    uint32_t slots = slots_of(s, 0);
    return slots == slots_of(s, 1) && memcmp(s->threshold + s->first[0], s->threshold + s->first[1],
                                             slots * sizeof *s->threshold) == 0;
}

/* Numbers of the list below a magnitude; false: they do not come first. */
static bool count_below(const hu_code_steps *s, int list, float magnitude, uint8_t *below) {
    uint32_t count = 0, slots = slots_of(s, list);
    while (count < slots && fabsf(hu_f32_of_bits(s->number[s->first[list] + count])) < magnitude)
        count++;
    for (uint32_t i = count; i < slots; i++)
        if (fabsf(hu_f32_of_bits(s->number[s->first[list] + i])) < magnitude) return false;
    *below = (uint8_t)count;
    return true;
}

/* Codes and counts; false: there is no 0, which comes first, or codes are not those of numbers. */
static bool set_slots(maker *m, int list) {
    const hu_code_steps *s = m->steps;
    float normal = m->table->min_normal > 0 ? (float)m->table->min_normal : 0x1p-149f;
    uint32_t slots = slots_of(s, list);
    m->to->last[list] = (uint8_t)slots;
    if ((s->number[s->first[list]] & ~HU_F32_SIGN) != 0) return false;
    for (uint32_t i = 0; i < slots; i++) {
        uint32_t code = s->code[s->first[list] + i];
        uint32_t u = s->number[s->first[list] + i] & ~HU_F32_SIGN;
        m->to->code[list][i] = (uint8_t)code;
        m->to->has_small = m->to->has_small || (u != 0 && u < LEAST_NORMAL);
        if (hu_f32_bits(m->table->decoded[code]) != s->number[s->first[list] + i]) return false;
    }
    m->to->has_subnormal = m->to->has_subnormal || normal > 0x1p-149f;
    return count_below(s, list, normal, &m->to->normal[list]);
}

static bool is_deep_list(const hu_code_steps *s, int list) {
    for (uint32_t i = s->first[list]; i < s->last[list]; i++)
        if (s->threshold[i] < HU_F32_INFINITY && s->threshold[i] >= LEAST_NORMAL &&
            is_deep(s->threshold[i]))
            return true;
    return false;
}

/* Whether the lists are one: alike in what is looked up and counted. */
static bool is_even(const maker *m) {
    return are_alike(m->steps) && m->to->normal[0] == m->to->normal[1];
}

/* false: the table has too much for bytes. */
static bool fill(maker *m) {
    const hu_code_steps *s = m->steps;
    enum { BITS = 8, SLOTS_MOST = 255 };
    if (m->table->bits > BITS) return false;
    for (int list = 0; list < 2; list++)
        if (slots_of(s, list) < 1 || slots_of(s, list) > SLOTS_MOST) return false;
    for (int i = 0; i < HU_BYTE_WORDS; i++) m->constant[i] = -1;
    m->to->is_deep = is_deep_list(s, 0) || is_deep_list(s, 1);
    for (int list = 0; list < 2; list++)
        if (!set_slots(m, list) || !set_shares(m, list)) return false;
    m->to->is_even = is_even(m);
    if (!place_all(m, m->to->is_even ? 1 : 2)) return false;
    m->to->is_narrow = m->used <= HU_BYTE_NARROW && m->to->last[0] <= HU_BYTE_NARROW &&
                       m->to->last[1] <= HU_BYTE_NARROW;
    return true;
}

/* ---- members ---- */

/* Thresholds between numbers of a list that end behind the first 7 bits of the fraction; the last
 * is infinity. false: the numbers differ in less. */
static bool separate(const hu_code_steps *s, int list, uint32_t *threshold) {
    const uint32_t kept = HU_F32_INFINITY | 0x7f0000u, sign = list ? HU_F32_SIGN : 0;
    for (uint32_t i = s->first[list]; i + 1 < s->last[list]; i++) {
        uint32_t low = s->number[i] & ~HU_F32_SIGN;
        bool is_other = low == 0 || (s->number[i] & HU_F32_SIGN) != sign;
        uint32_t high = s->number[i + 1] & ~HU_F32_SIGN;
        threshold[i] = high < LEAST_NORMAL ? high : high & kept;
        if (!is_other && threshold[i] <= (low < LEAST_NORMAL ? low : low & kept)) return false;
    }
    if (s->last[list] > s->first[list]) threshold[s->last[list] - 1] = HU_F32_INFINITY;
    return true;
}

/* Such steps, with thresholds of their own; NULL: there are none. */
static hu_status steps_of_members(const hu_code_steps *steps, hu_code_steps *to, bool *is_made) {
    hu_status st = HU_OK;
    *to = *steps;
    to->threshold = NULL;
    HU_TRY(HU_NEW_ARRAY(&to->threshold, steps->slots));
    *is_made = separate(steps, 0, to->threshold) && separate(steps, 1, to->threshold);
done:
    return st;
}

hu_status hu_code_bytes_make(const hu_code_table *table, const hu_code_steps *steps,
                             bool are_members, hu_code_bytes **bytes) {
    hu_status st = HU_OK;
    hu_code_steps members = {.threshold = NULL};
    bool is_made = true;
    maker m = {.table = table, .steps = are_members ? &members : steps};
    *bytes = NULL;
    if (are_members) HU_TRY(steps_of_members(steps, &members, &is_made));
    HU_TRY(HU_NEW(&m.to));
    if (is_made && fill(&m)) {
        *bytes = m.to;
        m.to = NULL;
    }
done:
    hu_free(members.threshold);
    hu_free(m.to);
    return st;
}
