#include "precision/precision_epochs.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

static const char expected[] =
    "'EPOCH: PRECISION, EPOCH: PRECISION, ...', as in '0: fp32, 30: hfp8'";

/* Characters up to and with the colon of "30:", 0 if the text does not begin so. */
static size_t epoch_length(const char *text) {
    size_t digits = strspn(text, "0123456789");
    size_t colon = digits + strspn(text + digits, " ");
    return digits > 0 && text[colon] == ':' ? colon + 1 : 0;
}

bool hu_precision_is_list(const char *text) {
    return epoch_length(text + strspn(text, " ")) > 0;
}

/* Characters of a phase: up to the comma behind which the next one begins. Other commas belong to
 * its precision ("w=e4m3,act=e5m2"). */
static size_t phase_length(const char *text) {
    size_t length = 0;
    for (; text[length]; length++)
        if (text[length] == ',' && hu_precision_is_list(text + length + 1)) break;
    return length;
}

/* Characters before the spaces at the end of text[length]. */
static size_t trimmed(const char *text, size_t length) {
    while (length > 0 && isspace((unsigned char)text[length - 1])) length--;
    return length;
}

static hu_status check_order(const hu_precision *precision, int64_t epoch) {
    uint32_t count = precision->phase_count;
    if (count == 0 && epoch != 0)
        return hu_fail(HU_ERR_ARGUMENT, "precision.epochs: found epoch %lld first, expected 0",
                       (long long)epoch);
    if (count > 0 && epoch <= precision->phases[count - 1].epoch)
        return hu_fail(HU_ERR_ARGUMENT,
                       "precision.epochs: found epoch %lld behind epoch %lld, expected a later one",
                       (long long)epoch, (long long)precision->phases[count - 1].epoch);
    return HU_OK;
}

static hu_status add_phase(hu_precision *precision, int64_t epoch, const char *text,
                           hu_phase_reader *read, void *context) {
    hu_status st = HU_OK;
    void *array = precision->phases;
    hu_precision_phase *phase;
    HU_TRY(check_order(precision, epoch));
    HU_TRY(hu_realloc(&array, (precision->phase_count + 1) * sizeof *precision->phases));
    precision->phases = array;
    phase = &precision->phases[precision->phase_count];
    phase->epoch = epoch;
    st = read(context, text, &phase->precision);
    precision->phase_count++; /* read or not: it is freed with the others */
    if (st == HU_OK && phase->precision.bits.schedule)
        st = hu_fail(HU_ERR_ARGUMENT,
                     "found '%s', a schedule of a whole training, expected it as precision=",
                     phase->precision.name);
    if (st != HU_OK) return hu_fail_within(st, "precision.epochs, epoch %lld: ", (long long)epoch);
done:
    return st;
}

/* One phase, text[length]. */
static hu_status read_phase(const char *text, size_t length, hu_phase_reader *read, void *context,
                            hu_precision *precision) {
    enum { MOST_DIGITS = 9 };
    char name[HU_SPEC_BYTES];
    size_t skip = epoch_length(text);
    if (skip == 0 || skip > length || strspn(text, "0123456789") > MOST_DIGITS)
        return hu_fail(HU_ERR_PARSE, "precision.epochs: found '%.*s', expected %s",
                       (int)(length < sizeof name ? length : sizeof name), text, expected);
    skip += strspn(text + skip, " ");
    length = skip < length ? trimmed(text + skip, length - skip) : 0;
    if (length == 0 || length >= sizeof name)
        return hu_fail(
            HU_ERR_PARSE,
            "precision.epochs, epoch %lld: found %zu characters, expected a precision of "
            "1 to %d characters",
            strtoll(text, NULL, 10), length, HU_SPEC_BYTES - 1);
    memcpy(name, text + skip, length);
    name[length] = '\0';
    return add_phase(precision, strtoll(text, NULL, 10), name, read, context);
}

/* What holds for the whole training. */
static void join_phases(hu_precision *precision) {
    size_t used = 0;
    precision->eval_masters = true;
    for (uint32_t p = 0; p < precision->phase_count; p++) {
        const hu_precision_phase *phase = &precision->phases[p];
        const hu_precision *one = &phase->precision;
        if (one->scaler == HU_SCALER_DYNAMIC && precision->scaler != HU_SCALER_DYNAMIC) {
            precision->scaler = HU_SCALER_DYNAMIC;
            precision->scaler_epoch_interval = one->scaler_epoch_interval;
        }
        precision->promotes = precision->promotes || one->promotes;
        precision->eval_masters = precision->eval_masters && one->eval_masters;
        if (used < sizeof precision->name)
            used +=
                (size_t)snprintf(precision->name + used, sizeof precision->name - used,
                                 "%s%lld: %s", p ? ", " : "", (long long)phase->epoch, one->name);
    }
}

hu_status hu_precision_parse_list(const char *text, hu_phase_reader *read, void *context,
                                  hu_precision *precision) {
    hu_status st = HU_OK;
    *precision = (hu_precision){0};
    for (;;) {
        text += strspn(text, " ");
        size_t length = phase_length(text);
        HU_TRY(read_phase(text, length, read, context, precision));
        if (!text[length]) break;
        text += length + 1;
    }
    join_phases(precision);
done:
    if (st != HU_OK) {
        hu_precision_free(precision);
        *precision = (hu_precision){0};
    }
    return st;
}

const hu_precision *hu_precision_at(const hu_precision *precision, int64_t epoch) {
    uint32_t p = precision->phase_count;
    while (p > 0 && precision->phases[p - 1].epoch > epoch) p--;
    return p > 0 ? &precision->phases[p - 1].precision : precision;
}
