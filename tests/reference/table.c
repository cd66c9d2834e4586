#include "table.h"

#include <math.h>
#include <string.h>

/* ---- strings of bits ---- */

/* A growing string, the first bit on top. */
typedef struct string {
    unsigned __int128 bits;
    int length;
} string;

static void put(string *s, uint32_t bits, int count) {
    if (count == 0) return;
    s->length += count;
    s->bits |= (unsigned __int128)(bits & (uint32_t)((1ull << count) - 1)) << (128 - s->length);
}

/* The first `count` bits as a number, rounded by those after them, ties to even. */
static uint32_t rounded(const string *s, int count) {
    uint32_t head = (uint32_t)(s->bits >> (128 - count));
    unsigned __int128 rest = s->bits << count, half = (unsigned __int128)1 << 127;
    return head + (rest > half || (rest == half && (head & 1)));
}

/* Exponent and 23 bits of fraction of a positive number. */
static int take_apart(float x, uint32_t *fraction) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (bits >> 23 == 0) return take_apart(x * 0x1p30f, fraction) - 30;
    *fraction = bits & 0x7fffff;
    return (int)(bits >> 23) - 127;
}

/* A positive code between the least and the largest one, with the sign of x. */
static uint32_t finish(int n, uint32_t code, float x) {
    uint32_t most = (1u << (n - 1)) - 1;
    if (code < 1) code = 1;
    if (code > most) code = most;
    return x < 0 ? (0 - code) & (2 * most + 1) : code;
}

/* ---- posits ---- */

uint32_t reference_posit(int n, int es, float x) {
    string s = {0};
    uint32_t fraction;
    if (x == 0) return 0;
    if (!isfinite(x)) return 1u << (n - 1);
    int exponent = take_apart(fabsf(x), &fraction), step = 1 << es;
    int regime = exponent >= 0 ? exponent / step : -((-exponent + step - 1) / step);
    if (regime >= n) return finish(n, 1u << n, x);
    if (regime <= -n) return finish(n, 0, x);
    put(&s, 0, 1);
    put(&s, regime >= 0 ? UINT32_MAX : 0, regime >= 0 ? regime + 1 : -regime);
    put(&s, regime < 0, 1);
    put(&s, (uint32_t)(exponent - regime * step), es);
    put(&s, fraction, 23);
    return finish(n, rounded(&s, n), x);
}

/* Bits of a code as characters. */
static void spell(int n, uint32_t code, char *text) {
    for (int i = 0; i < n; i++) text[i] = (char)('0' + (code >> (n - 1 - i) & 1));
    text[n] = '\0';
}

/* The number that characters write in binary; those that are missing are 0. */
static uint32_t read_bits(const char **text, int count) {
    uint32_t number = 0;
    while (count-- > 0) {
        number *= 2;
        if (**text) number += (uint32_t)(*(*text)++ - '0');
    }
    return number;
}

double reference_posit_value(int n, int es, uint32_t code) {
    char text[40];
    if (code == 0) return 0;
    if (code == 1u << (n - 1)) return NAN;
    if (code >> (n - 1)) return -reference_posit_value(n, es, (1u << n) - code);
    spell(n, code, text);
    const char *at = text + 1;
    size_t run = strspn(at, *at == '1' ? "1" : "0");
    int regime = *at == '1' ? (int)run - 1 : -(int)run;
    at += run;
    if (*at) at++;
    double scale = pow(pow(2, 1 << es), regime) * pow(2, read_bits(&at, es));
    double significand = 1;
    for (double place = 0.5; *at; at++, place /= 2) significand += (*at - '0') * place;
    return scale * significand;
}

/* ---- takums ---- */

static int floor_log2(uint32_t x) {
    int log = 0;
    while (x >>= 1) log++;
    return log;
}

uint32_t reference_takum(int n, float x) {
    string s = {0};
    uint32_t fraction;
    if (x == 0) return 0;
    if (!isfinite(x)) return 1u << (n - 1);
    int c = take_apart(fabsf(x), &fraction), direction = c >= 0;
    int r = floor_log2((uint32_t)(direction ? c + 1 : -c));
    put(&s, 0, 1);
    put(&s, (uint32_t)direction, 1);
    put(&s, (uint32_t)(direction ? r : 7 - r), 3);
    put(&s, (uint32_t)(direction ? c + 1 - (1 << r) : c + (2 << r) - 1), r);
    put(&s, fraction, 23);
    return finish(n, rounded(&s, n), x);
}

/* By the definition, without the code of the opposite number. */
double reference_takum_value(int n, int is_log, uint32_t code) {
    char text[40];
    if (code == 0) return 0;
    if (code == 1u << (n - 1)) return NAN;
    spell(n, code, text);
    const char *at = text;
    int s = (int)read_bits(&at, 1), d = (int)read_bits(&at, 1), field = (int)read_bits(&at, 3);
    int r = d ? field : 7 - field, bits = (int)read_bits(&at, r);
    int c = d ? (1 << r) - 1 + bits : -(2 << r) + 1 + bits;
    double m = 0;
    for (double place = 0.5; *at; at++, place /= 2) m += (*at - '0') * place;
    if (is_log) return (1 - 2 * s) * exp((1 - 2 * s) * (c + m) / 2);
    return (1 - 3 * s + m) * pow(2, (1 - 2 * s) * (c + s));
}

/* ---- HiFloat8 ---- */

double reference_hif8_value(uint32_t code) {
    static const char *const dots[] = {"11", "10", "01", "001", "0001"};
    char text[40];
    double sign = code & 0x80 ? -1 : 1;
    if (code == 0x80) return NAN;
    if ((code & 0x7f) == 0x6f) return sign * INFINITY;
    spell(7, code & 0x7f, text);
    for (int i = 0; i < 5; i++) {
        size_t length = strlen(dots[i]);
        if (strncmp(text, dots[i], length) != 0) continue;
        const char *at = text + length;
        int d = 4 - i, is_negative = d > 0 && read_bits(&at, 1);
        int exponent = d > 0 ? (1 << (d - 1)) + (int)read_bits(&at, d - 1) : 0;
        double significand = 1;
        for (double place = 0.5; *at; at++, place /= 2) significand += (*at - '0') * place;
        return sign * significand * pow(2, is_negative ? -exponent : exponent);
    }
    return code & 7 ? sign * pow(2, (double)(code & 7) - 23) : 0;
}

/* Bits of the mantissa where numbers are 2^exponent and more; 0 of powers of two alone. */
static int hif8_bits(int exponent) {
    int magnitude = exponent < 0 ? -exponent : exponent;
    return magnitude < 4 ? 3 : magnitude < 8 ? 2 : magnitude < 16 ? 1 : 0;
}

/* Dot, exponent and mantissa of a number of the format, its magnitude. */
static uint32_t hif8_code(double magnitude) {
    static const uint32_t dots[] = {1, 1, 1, 2, 3};
    static const int dot_bits[] = {4, 3, 2, 2, 2};
    string s = {0};
    int exponent = ilogb(magnitude), size = exponent < 0 ? -exponent : exponent, d = 0;
    if (exponent < -15) return (uint32_t)(exponent + 23);
    while (size >> d) d++;
    put(&s, 0, 1);
    put(&s, dots[d], dot_bits[d]);
    if (d) put(&s, exponent < 0, 1);
    if (d) put(&s, (uint32_t)size, d - 1); /* without its leading one */
    put(&s, (uint32_t)ldexp(magnitude / ldexp(1, exponent) - 1, 8 - s.length), 8 - s.length);
    return (uint32_t)(s.bits >> 120);
}

uint32_t reference_hif8(float x) {
    double magnitude = fabs((double)x);
    uint32_t sign = x < 0 ? 0x80 : 0;
    if (isnan(x)) return 0x80;
    if (magnitude >= 40960) return sign | 0x6f;
    if (magnitude < 0x1p-23) return 0;
    int exponent = ilogb(magnitude), bits = hif8_bits(exponent);
    if (exponent < -22) exponent = -22, bits = 0;
    double quantum = ldexp(1, exponent - bits);
    return sign | hif8_code(floor(magnitude / quantum + 0.5) * quantum);
}
