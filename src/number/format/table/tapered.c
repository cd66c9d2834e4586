/* format/table/tapered.c - posits, takums, HiFloat8: precision that falls toward both ends. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "format/table/draft.h"

enum { BITS_LEAST = 3, BITS_MOST = 16 };

/* ---- posits ---- */

enum { USUAL_ES = 2, MOST_ES = 4 };

hu_status hu_posit_read(hu_code_recipe *r) {
    hu_status st = hu_code_read_number(r, "bits", BITS_LEAST, BITS_MOST, &r->argument[0]);
    r->argument[1] = USUAL_ES;
    if (st == HU_OK && hu_code_accept(r, ":es="))
        st = hu_code_read_number(r, "exponent bits", 0, MOST_ES, &r->argument[1]);
    snprintf(r->name, sizeof r->name, "posit%d", (int)r->argument[0]);
    if (r->argument[1] != USUAL_ES)
        snprintf(r->name + strlen(r->name), 16, ":es=%d", (int)r->argument[1]);
    return st;
}

/* After the sign a run of equal bits and its opposite, es exponent bits, the fraction; bits beyond
 * the end are 0. Source: Standard for Posit Arithmetic (2022), section 3. */
static double posit_value(const int64_t *argument, int bits, uint32_t code) {
    int es = (int)argument[1], left = bits - 1, run = 0;
    uint32_t first = code >> (bits - 2) & 1;
    while (run < left && (code >> (left - 1 - run) & 1) == first) run++;
    int regime = first ? run - 1 : -run;
    left -= run < left ? run + 1 : run;
    int exponent_bits = left < es ? left : es, fraction_bits = left - exponent_bits;
    uint32_t exponent = code >> fraction_bits & ((1u << exponent_bits) - 1);
    uint32_t fraction = code & ((1u << fraction_bits) - 1);
    exponent <<= es - exponent_bits;
    return ldexp(1 + ldexp(fraction, -fraction_bits), regime * (1 << es) + (int)exponent);
}

hu_status hu_posit_fill(const hu_code_recipe *r, hu_code_draft *draft) {
    return hu_code_fill_ring(r, (int)r->argument[0], posit_value, draft);
}

/* ---- takums ---- */

hu_status hu_takum_read(hu_code_recipe *r) {
    bool is_log = strncmp(r->text, "takumlog", 8) == 0;
    hu_status st = hu_code_read_number(r, "bits", BITS_LEAST, BITS_MOST, &r->argument[0]);
    r->argument[1] = is_log;
    snprintf(r->name, sizeof r->name, "takum%s%d", is_log ? "log" : "", (int)r->argument[0]);
    return st;
}

/* Sign, direction, 3 bits of regime, the characteristic c in as many bits as the regime says, the
 * mantissa m; fewer than 12 bits are filled up with zeros. Source: Hunhold, "Beating posits at
 * their own game: takum arithmetic", 2024 (arXiv 2404.18603), section 3. */
static double takum_value(const int64_t *argument, int bits, uint32_t code) {
    enum { HEAD = 5, LEAST = 12 };
    if (bits < LEAST) code <<= LEAST - bits, bits = LEAST;
    int direction = code >> (bits - 2) & 1, regime = code >> (bits - HEAD) & 7;
    int r = direction ? regime : 7 - regime, mantissa_bits = bits - HEAD - r;
    int c = (int)(code >> mantissa_bits & ((1u << r) - 1));
    double m = ldexp(code & ((1u << mantissa_bits) - 1), -mantissa_bits);
    c += direction ? (1 << r) - 1 : 1 - (2 << r);
    return argument[1] ? exp((c + m) / 2) : ldexp(1 + m, c);
}

hu_status hu_takum_fill(const hu_code_recipe *r, hu_code_draft *draft) {
    return hu_code_fill_ring(r, (int)r->argument[0], takum_value, draft);
}

/* ---- HiFloat8 ---- */

hu_status hu_hif8_read(hu_code_recipe *r) {
    snprintf(r->name, sizeof r->name, "hif8");
    return HU_OK;
}

/* Of a code without its sign. The dot says how many bits the exponent has: its sign and what
 * follows a hidden leading one; the mantissa has the rest. Source: Luo et al., "Ascend HiFloat8
 * Format for Deep Learning", 2024 (arXiv 2409.16626), tables 1 to 4. */
static double hif8_value(uint32_t code) {
    static const struct {
        uint32_t dot;
        int dot_bits, exponent_bits;
    } rows[] = {{3, 2, 4}, {2, 2, 3}, {1, 2, 2}, {1, 3, 1}, {1, 4, 0}};
    enum { BITS = 7, SUBNORMAL_EXPONENT = -23 };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (code >> (BITS - rows[i].dot_bits) != rows[i].dot) continue;
        int e_bits = rows[i].exponent_bits, m_bits = BITS - rows[i].dot_bits - e_bits;
        uint32_t e = code >> m_bits & ((1u << e_bits) - 1), m = code & ((1u << m_bits) - 1);
        uint32_t lead = e_bits ? 1u << (e_bits - 1) : 0; /* the place of its sign, then a one */
        int exponent = (int)((e & (lead - (e_bits ? 1 : 0))) | lead);
        return ldexp(1 + ldexp(m, -m_bits), e & lead ? -exponent : exponent);
    }
    return code ? ldexp(1, (int)code + SUBNORMAL_EXPONENT) : 0;
}

hu_status hu_hif8_fill(const hu_code_recipe *r, hu_code_draft *draft) {
    enum { INFINITY_CODE = 0x6f, SIGN = 0x80 };
    hu_status st = hu_code_draft_open(draft, 256);
    if (st != HU_OK) return st;
    (void)r;
    for (uint32_t c = 0; c < SIGN; c++) {
        draft->value[c] = hif8_value(c);
        draft->value[SIGN | c] = -draft->value[c];
    }
    draft->next[1] = draft->value[INFINITY_CODE];
    draft->next[0] = -draft->next[1];
    draft->value[INFINITY_CODE] = INFINITY;
    draft->value[SIGN | INFINITY_CODE] = -INFINITY;
    draft->value[SIGN] = NAN;
    draft->ties = HU_TIES_AWAY;
    draft->overflow = HU_OVERFLOW_INF;
    return HU_OK;
}
