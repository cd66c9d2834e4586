#include "train/weights.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "store/safetensors.h"
#include "train/internal.h"
#include "train/trainer.h"

/* ---- Weights as codes, and as a header of C ---- */

/* ---- Which widths make one network: channel numbers are rounded ---- */

static const double least = 0.01, most = 64.0, per_unit = 100.0;

/* The same values of the same sizes. */
static bool is_same(const hu_graph *a, const hu_graph *b) {
    if (a->value_count != b->value_count) return false;
    for (hu_value_id v = 0; v < a->value_count; v++) {
        const hu_shape *one = &a->value[v].shape, *other = &b->value[v].shape;
        if (one->rank != other->rank) return false;
        for (int i = 0; i < one->rank; i++)
            if (one->extent[i] != other->extent[i]) return false;
    }
    return true;
}

/* Whether a width makes another network; one that cannot be made is another. */
static hu_status differs(const hu_train_options *options, const hu_dataset *dataset,
                         const hu_graph *graph, double width, bool *is_other) {
    hu_train_options other = *options;
    hu_task_choice choice;
    hu_graph *made = NULL;
    other.width = width;
    hu_status st = hu_train_network(&other, dataset, &choice, &made);
    *is_other = st != HU_OK || !is_same(graph, made);
    hu_graph_free(made);
    return st == HU_ERR_MEMORY ? st : HU_OK;
}

hu_status hu_train_other_widths(const hu_train_options *options, const hu_dataset *dataset,
                                const hu_graph *graph, double *below, double *above) {
    double *const found[] = {below, above};
    *below = *above = (double)NAN;
    for (int side = 0; side < 2; side++) {
        double first = side ? floor(per_unit * options->width) : ceil(per_unit * options->width);
        for (int i = 1; i <= HU_WIDTHS_LOOKED_AT && isnan(*found[side]); i++) {
            double width = (side ? first + i : first - i) / per_unit;
            bool is_other;
            if (width < least || width > most) break;
            hu_status st = differs(options, dataset, graph, width, &is_other);
            if (st != HU_OK) return st;
            if (is_other) *found[side] = width;
        }
    }
    return HU_OK;
}

/* ---- Weights as a header of C, for small devices ---- */

enum { TEXT = 1536, IDENTIFIER = HU_NAME_BYTES + 32, CODES_A_LINE = 16, FLOATS_A_LINE = 6 };

static hu_status put(hu_byte_writer *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static hu_status put(hu_byte_writer *out, const char *format, ...) {
    char text[TEXT];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (length < 0 || length >= TEXT)
        return hu_fail(HU_ERR_INTERNAL, "a part of the header has more than %d bytes", TEXT);
    return hu_write_bytes(out, text, (size_t)length);
}

typedef struct identifier {
    char text[IDENTIFIER];
} identifier;

/* Whether a name is that of an array, or of what goes with it. */
static bool belongs_to(const char *name, const char *array) {
    static const char *const endings[] = {"", "_shape", "_exp_bits", "_man_bits", "_bias"};
    size_t length = strlen(array);
    if (strncmp(name, array, length) != 0) return false;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (strcmp(name + length, endings[i]) == 0) return true;
    return false;
}

/* No ending ends another one: two arrays meet where one is called as something of the other. */
static bool are_alike(const char *a, const char *b) {
    return belongs_to(a, b) || belongs_to(b, a);
}

/* "w_layer1_0_conv1_weight"; with a number after it where that is present already. */
static void name_item(const hu_weight_list *list, size_t index, identifier *names) {
    char *text = names[index].text;
    int length = snprintf(text, IDENTIFIER - 24, "w_%s", list->item[index].name);
    bool is_present = true;
    for (char *c = text; *c; c++)
        if (!isalnum((unsigned char)*c)) *c = '_';
    for (size_t number = index; is_present; number += list->count) {
        is_present = false;
        for (size_t i = 0; i < index && !is_present; i++)
            is_present = are_alike(names[i].text, text);
        if (is_present) snprintf(text + length, (size_t)(IDENTIFIER - length), "_no%zu", number);
    }
}

static const char decoder[] =
    "/* The number of a code: a sign, exp_bits of exponent, man_bits of fraction. */\n"
    "static inline float hu_decode(uint32_t code, int exp_bits, int man_bits, int bias) {\n"
    "    uint32_t man = code & ((1u << man_bits) - 1u);\n"
    "    uint32_t exp = code >> man_bits & ((1u << exp_bits) - 1u);\n"
    "    float x = exp ? ldexpf((float)(man + (1u << man_bits)), (int)exp - bias - man_bits)\n"
    "                  : ldexpf((float)man, 1 - bias - man_bits);\n"
    "    return code >> (exp_bits + man_bits) & 1u ? -x : x;\n"
    "}\n\n";

/* What the function above gives. */
static float decode(uint32_t code, const hu_weight_coding *coding) {
    uint32_t one = 1u << coding->format.man_bits, man = code & (one - 1u);
    uint32_t exp = code >> coding->format.man_bits & ((1u << coding->format.exp_bits) - 1u);
    int last = coding->exponent - coding->format.bias - coding->format.man_bits;
    float x = exp ? ldexpf((float)(man + one), (int)exp + last) : ldexpf((float)man, 1 + last);
    return code >> (coding->format.exp_bits + coding->format.man_bits) & 1u ? -x : x;
}

static uint32_t code_of(const hu_weight_item *item, size_t i) {
    size_t each = hu_weight_coding_bytes(&item->coding);
    uint32_t code = item->bytes[i * each];
    return each == 1 ? code : code | (uint32_t)item->bytes[i * each + 1] << 8;
}

/* Are there codes, and does the function decode them? */
static bool is_coded(const hu_weight_item *item) {
    if (!item->bytes) return false;
    for (size_t i = 0; i < item->elements; i++)
        if (hu_f32_bits(decode(code_of(item, i), &item->coding)) != hu_f32_bits(item->values[i]))
            return false;
    return true;
}

static hu_status put_shape(hu_byte_writer *out, const char *name, const hu_shape *shape) {
    hu_status st;
    int rank = shape->rank > 0 ? shape->rank : 1;
    HU_TRY(put(out, "static const int32_t %s_shape[%d] = {", name, rank));
    for (int i = 0; i < rank; i++)
        HU_TRY(put(out, "%s%" PRId64, i ? ", " : "", shape->rank > 0 ? shape->extent[i] : 1));
    HU_TRY(put(out, "};\n"));
done:
    return st;
}

static hu_status put_numbers(hu_byte_writer *out, const hu_weight_item *item, bool coded) {
    hu_status st = HU_OK;
    size_t line = coded ? CODES_A_LINE : FLOATS_A_LINE;
    for (size_t i = 0; i < item->elements; i++) {
        const char *before = i % line ? " " : "\n    ";
        if (coded)
            HU_TRY(put(out, "%s%" PRIu32 ",", before, code_of(item, i)));
        else
            HU_TRY(put(out, "%s%af,", before, (double)item->values[i]));
    }
    HU_TRY(put(out, "\n};\n\n"));
done:
    return st;
}

static hu_status put_item(hu_byte_writer *out, const hu_weight_item *item, const char *name) {
    hu_status st;
    const hu_weight_coding *coding = &item->coding;
    bool coded = is_coded(item);
    const char *type = !coded                                ? "float"
                       : hu_weight_coding_bytes(coding) == 1 ? "uint8_t"
                                                             : "uint16_t";
    /* A name that would end the comment is told as the array is called. */
    HU_TRY(put(out, "/* %s, %s */\n", strstr(item->name, "*/") ? name : item->name,
               coding->text[0] ? coding->text : "not rounded"));
    if (coded)
        HU_TRY(put(out, "enum { %s_exp_bits = %d, %s_man_bits = %d, %s_bias = %d };\n", name,
                   coding->format.exp_bits, name, coding->format.man_bits, name,
                   (int)(coding->format.bias - coding->exponent)));
    HU_TRY(put_shape(out, name, &item->shape));
    HU_TRY(put(out, "static const %s %s[%zu] = {", type, name, item->elements));
    HU_TRY(put_numbers(out, item, coded));
done:
    return st;
}

static hu_status put_head(hu_byte_writer *out, const hu_trainer *trainer,
                          const hu_export_options *options, const hu_weight_list *list) {
    hu_status st;
    size_t bytes = 0;
    for (size_t i = 0; i < list->count; i++) {
        const hu_weight_item *item = &list->item[i];
        bytes += item->elements *
                 (is_coded(item) ? hu_weight_coding_bytes(&item->coding) : sizeof(float));
    }
    HU_TRY(put(out,
               "/* Weights (%s) of %.100s behind step %lld, by halfulp " HALFULP_VERSION
               ": %zu tensors, %zu bytes.\n *\n",
               hu_export_kind(options), trainer->options.model, (long long)trainer->progress.step,
               list->count, bytes));
    HU_TRY(put(out,
               " * Each has an array NAME and its extents NAME_shape, the slowest first, in "
               "the layout of %s.\n * Floats are the numbers; number i of an array of codes is\n"
               " *     hu_decode(NAME[i], NAME_exp_bits, NAME_man_bits, NAME_bias)\n"
               " * The bias holds the scale of the tensor, if it has one. */\n",
               hu_weight_layout_name(options->layout)));
    HU_TRY(put(out,
               "#ifndef HALFULP_WEIGHTS_H\n#define HALFULP_WEIGHTS_H\n#include <math.h>\n"
               "#include <stdint.h>\n\n%s",
               decoder));
done:
    return st;
}

/* The text of a header: an array of codes or of floats for each tensor, its shape and scale, and a
 * function that decodes. Owner frees *data with hu_free. HU_ERR_MEMORY. */
static hu_status weight_header(const hu_trainer *trainer, const hu_export_options *options,
                               const hu_weight_list *list, uint8_t **data, size_t *bytes) {
    hu_status st;
    hu_byte_writer out = {0};
    identifier *names = NULL;
    HU_TRY(HU_NEW_ARRAY(&names, list->count));
    HU_TRY(put_head(&out, trainer, options, list));
    for (size_t i = 0; i < list->count; i++) {
        name_item(list, i, names);
        HU_TRY(put_item(&out, &list->item[i], names[i].text));
    }
    HU_TRY(put(&out, "#endif\n"));
    *data = out.data;
    *bytes = out.size;
    out.data = NULL;
done:
    hu_writer_free(&out);
    hu_free(names);
    return st;
}

/* ---- Files of weights ---- */

hu_status hu_weight_layout_parse(const char *text, hu_weight_layout *layout) {
    for (int i = 0; i < 2; i++) {
        if (strcmp(text, hu_weight_layout_name((hu_weight_layout)i)) != 0) continue;
        *layout = (hu_weight_layout)i;
        return HU_OK;
    }
    return hu_fail(HU_ERR_UNKNOWN, "layout '%.100s', expected torch or halfulp", text);
}

/* "format:NAME" of a tensor whose format has a text. Owner frees *key. */
static hu_status add_format(const hu_weight_item *item, char **key, hu_safetensor_text *text) {
    static const char prefix[] = HU_WEIGHT_FORMAT_KEY;
    size_t bytes = sizeof prefix + strlen(item->name);
    hu_status st = HU_NEW_ARRAY(key, bytes);
    if (st != HU_OK) return st;
    snprintf(*key, bytes, "%s%s", prefix, item->name);
    *text = (hu_safetensor_text){*key, item->coding.text};
    return HU_OK;
}

/* Wide numbers first, so that each begins at a multiple of its size. */
static size_t add_tensors(const hu_weight_list *list, hu_safetensor_source *tensors) {
    size_t count = 0;
    for (size_t width = sizeof(float); width > 0; width /= 2)
        for (size_t i = 0; i < list->count; i++) {
            const hu_weight_item *item = &list->item[i];
            if (hu_weight_coding_bytes(&item->coding) != width) continue;
            tensors[count++] = (hu_safetensor_source){.name = item->name,
                                                      .shape = item->shape,
                                                      .values = item->values,
                                                      .dtype = item->coding.dtype,
                                                      .bytes = item->bytes};
        }
    return count;
}

static hu_status print_list(const hu_trainer *trainer, const hu_export_options *options,
                            const hu_weight_list *list, uint8_t **data, size_t *bytes) {
    hu_status st;
    char step[32], **keys = NULL;
    hu_safetensor_source *tensors = NULL;
    hu_safetensor_text *metadata = NULL;
    size_t texts = 0, formats = 0;
    snprintf(step, sizeof step, "%lld", (long long)trainer->progress.step);
    const hu_safetensor_text facts[] = {{"format", "pt"},
                                        {"halfulp", HALFULP_VERSION},
                                        {"layout", hu_weight_layout_name(options->layout)},
                                        {"model", trainer->options.model},
                                        {"step", step},
                                        {"weights", hu_export_kind(options)}};
    enum { FACTS = sizeof facts / sizeof *facts };
    HU_TRY(HU_NEW_ARRAY(&tensors, list->count));
    HU_TRY(HU_NEW_ARRAY(&metadata, list->count + FACTS));
    HU_TRY(HU_NEW_ARRAY(&keys, list->count));
    /* "pt" would not be true in another layout. */
    for (size_t i = options->layout == HU_WEIGHTS_TORCH ? 0 : 1; i < FACTS; i++)
        metadata[texts++] = facts[i];
    for (size_t i = 0; i < list->count; i++)
        if (list->item[i].coding.text[0])
            HU_TRY(add_format(&list->item[i], &keys[formats++], &metadata[texts++]));
    HU_TRY(hu_safetensors_print(tensors, add_tensors(list, tensors), metadata, texts, data, bytes));
done:
    for (size_t i = 0; keys && i < formats; i++) hu_free(keys[i]);
    hu_free(keys);
    hu_free(metadata);
    hu_free(tensors);
    return st;
}

/* What a list holds. */
static hu_export_report report_of(const hu_trainer *trainer, const hu_weight_list *list) {
    hu_export_report report = {.tensors = list->count, .elements = trainer->weights.elements};
    for (size_t i = 0; i < list->count; i++) report.coded += list->item[i].coding.dtype != NULL;
    return report;
}

hu_status hu_trainer_print(hu_trainer *trainer, const hu_export_options *options, uint8_t **data,
                           size_t *bytes, hu_export_report *report) {
    hu_weight_list list;
    *data = NULL;
    *bytes = 0;
    hu_status st = hu_weight_list_create(trainer, options, &list);
    if (st == HU_OK)
        st = options->as_c ? weight_header(trainer, options, &list, data, bytes)
                           : print_list(trainer, options, &list, data, bytes);
    *report = report_of(trainer, &list);
    report->bytes = *bytes;
    hu_weight_list_free(&list);
    return st;
}

hu_status hu_trainer_export(hu_trainer *trainer, const char *path, const hu_export_options *options,
                            hu_export_report *report) {
    uint8_t *data = NULL;
    size_t bytes;
    hu_status st = hu_trainer_print(trainer, options, &data, &bytes, report);
    if (st == HU_OK) st = hu_file_replace(path, data, bytes);
    hu_free(data);
    return st;
}
