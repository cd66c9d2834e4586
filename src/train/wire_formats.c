#include "train/wire_formats.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "precision/epochs.h"
#include "precision/plan.h"
#include "tensor/quantizer.h"

/* Characters of a phase: up to the comma behind which the next one begins; other commas belong to
 * its format, "fp(4,3,7)". */
static size_t phase_length(const char *text) {
    size_t length = 0;
    for (; text[length]; length++)
        if (text[length] == ',' && hu_precision_is_list(text + length + 1)) break;
    return length;
}

/* One format, text[length] with spaces around it. */
static hu_status read_format(const char *text, size_t length, hu_format *format) {
    char name[HU_QUANTIZER_BYTES];
    while (length > 0 && *text == ' ') text++, length--;
    while (length > 0 && text[length - 1] == ' ') length--;
    if (length >= sizeof name)
        return hu_fail(HU_ERR_PARSE, "comm.format: found %zu characters, expected a number format",
                       length);
    memcpy(name, text, length);
    name[length] = '\0';
    return hu_plain_format_parse(name, format);
}

/* "30: e4m3" with text[length]. */
static hu_status read_phase(const char *text, size_t length, const hu_wire_phase *before,
                            hu_wire_phase *phase) {
    char *end;
    phase->epoch = strtoll(text, &end, 10);
    size_t skip = (size_t)(end - text) + strspn(end, " ") + 1; /* and the colon */
    if (!before && phase->epoch != 0)
        return hu_fail(HU_ERR_ARGUMENT, "comm.format: found epoch %lld first, expected 0",
                       (long long)phase->epoch);
    if (before && phase->epoch <= before->epoch)
        return hu_fail(HU_ERR_ARGUMENT,
                       "comm.format: found epoch %lld behind epoch %lld, expected a later one",
                       (long long)phase->epoch, (long long)before->epoch);
    return read_format(text + skip, length - skip, &phase->format);
}

hu_status hu_wire_formats_parse(const char *text, hu_wire_phase **phase, int32_t *phases) {
    hu_status st = HU_OK;
    size_t capacity = 0;
    *phase = NULL;
    *phases = 0;
    bool is_list = hu_precision_is_list(text);
    for (const char *at = text; at == text || *at; at += *at == ',') {
        HU_TRY(hu_grow(phase, (size_t)*phases, &capacity, sizeof **phase));
        hu_wire_phase *one = &(*phase)[*phases];
        const hu_wire_phase *before = *phases > 0 ? one - 1 : NULL;
        at += is_list ? strspn(at, " ") : 0;
        size_t length = is_list ? phase_length(at) : strlen(at);
        st = is_list ? read_phase(at, length, before, one) : read_format(at, length, &one->format);
        if (st != HU_OK) HU_TRY(hu_fail_within(st, "comm.format '%s': ", text));
        ++*phases;
        at += length;
    }
done:
    if (st != HU_OK) {
        hu_free(*phase);
        *phase = NULL;
    }
    return st;
}

hu_status hu_wire_formats_keep_range(const hu_train_comm *comm, bool *keeps) {
    hu_wire_phase *phase = NULL;
    int32_t phases = 0;
    hu_status st = HU_OK;
    *keeps = true;
    if (comm->options.workers == 0) return HU_OK;
    HU_TRY(hu_wire_formats_parse(comm->formats, &phase, &phases));
    for (int32_t p = 0; p < phases; p++) *keeps &= hu_format_keeps_range(&phase[p].format);
done:
    hu_free(phase);
    return st;
}
