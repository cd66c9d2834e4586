/* tests/reference/p3109.h - formats of IEEE P3109, word for word from its definitions (Interim
 * Report 4.0 of June 2026), by integers and exact float64: nothing is shared with the library. */
#ifndef HU_TEST_P3109_H
#define HU_TEST_P3109_H
#include <stdbool.h>
#include <stdint.h>

#include <halfulp/format.h>

/* BinaryKpP. */
typedef struct p3109 {
    int k, p;
    bool is_signed, is_extended;
} p3109;

typedef enum p3109_saturation { P3109_FINITE, P3109_PROPAGATE, P3109_NONE } p3109_saturation;

/* 1 <= p < k signed, 1 <= p <= k unsigned, k > 2. Section 3.1. */
bool p3109_exists(const p3109 *f);

/* All values are float32: at most 8 exponent bits. */
bool p3109_fits(const p3109 *f);

/* "binary8p3se"; text: 32 bytes. */
void p3109_name(const p3109 *f, char *text);

/* Value of a code 0..2^k-1. Section 4.7.2. */
double p3109_value(const p3109 *f, uint32_t code);

/* The largest and the least finite value. */
double p3109_most(const p3109 *f);
double p3109_least(const p3109 *f);

/* x rounded in a mode (section 4.7.4; of stochastic modes without stated bits see hu_format_round)
 * and saturated (4.7.5). random_word as in hu_format_round. *is_beyond: rounded, x lay outside the
 * finite values, or was infinite. x is no NaN. */
float p3109_round(const p3109 *f, hu_rounding mode, p3109_saturation saturation, float x,
                  uint32_t random_word, bool *is_beyond);
#endif
