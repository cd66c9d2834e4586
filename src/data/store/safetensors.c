/* Reading and writing safetensors files; the header's grammar is in safetensors_header.c. */
#include "store/safetensors.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <halfulp/format.h>
#include <halfulp/status.h>

#include "base/bits.h"
#include "base/bytes.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/file.h"
#include "base/keys.h"
#include "base/memory.h"
#include "base/text.h"
#include "store/safetensors_header.h"

/* ---- files of weights of other programs, known by their first bytes ---- */

/* Rows are tried in order. lines: %1$s is the file as a string of Python, %2$s
 * the one to write. */
static const struct {
    const char *magic; /* what the file begins with */
    size_t length;
    const char *ending; /* and ends in; "": in anything */
    const char *what, *lines;
} kinds[] = {
    {"PK\3\4", 4, ".npz", "arrays of NumPy",
     "import numpy, safetensors.numpy; w = dict(numpy.load(%1$s)); "
     "safetensors.numpy.save_file(w, %2$s)"},
    {"PK\3\4", 4, ".keras", "a model of Keras", ""},
    {"PK\3\4", 4, "", "a file of PyTorch (a zip of pickles, which can run code when they are read)",
     "import torch, safetensors.torch; w = torch.load(%1$s, map_location='cpu', "
     "weights_only=True); safetensors.torch.save_file({k: v.clone().contiguous() for k, v in "
     "w.get('state_dict', w).items()}, %2$s)"},
    {"\x80", 1, "", "a file of PyTorch or another pickle (which can run code when it is read)",
     "import torch, safetensors.torch; w = torch.load(%1$s, map_location='cpu', "
     "weights_only=True); safetensors.torch.save_file({k: v.clone().contiguous() for k, v in "
     "w.get('state_dict', w).items()}, %2$s)"},
    {"\x08", 1, ".onnx", "a network of ONNX",
     "import onnx, onnx.numpy_helper, safetensors.numpy; w = {t.name: "
     "onnx.numpy_helper.to_array(t) for t in onnx.load(%1$s).graph.initializer}; "
     "safetensors.numpy.save_file(w, %2$s)"},
    {"\x89HDF", 4, "", "a file of HDF5, as Keras writes it", ""},
    {"GGUF", 4, "", "a file of GGUF", ""},
    {"\x93NUMPY", 6, "", "one array of NumPy, without a name", ""},
};

static bool ends_in(const char *text, const char *ending) {
    size_t length = strlen(text), end = strlen(ending);
    return length >= end && strcmp(text + length - end, ending) == 0;
}

/* HU_ERR_ARGUMENT says what the file is, and the lines of Python that make a safetensors file of
 * it; HU_OK: it is none that is known.
 *   head  [bytes] its first ones */
static hu_status hu_other_weights(const char *path, const uint8_t *head, size_t bytes) {
    static const char ending[] = ".safetensors";
    enum { LINES = 2048, PATH = 512 };
    char lines[LINES] = "", file[PATH], stem[PATH], made[PATH];
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (bytes < kinds[i].length || memcmp(head, kinds[i].magic, kinds[i].length) != 0) continue;
        if (!ends_in(path, kinds[i].ending)) continue;
        int length = snprintf(stem, sizeof stem - sizeof ending, "%s", path);
        char *dot = strrchr(stem, '.'), *slash = strrchr(stem, '/');
        if (dot && (!slash || dot > slash)) *dot = '\0';
        strcat(stem, ending);
        /* A path that is cut would be another one. */
        bool fits = length >= 0 && (size_t)length < sizeof stem - sizeof ending &&
                    hu_quote_python(path, file, sizeof file) &&
                    hu_quote_python(stem, made, sizeof made);
        if (kinds[i].lines[0] && fits) snprintf(lines, sizeof lines, kinds[i].lines, file, made);
        return hu_fail(HU_ERR_ARGUMENT, "%s: found %s, expected a safetensors file%s%s", path,
                       kinds[i].what, lines[0] ? "; in Python: " : "", lines);
    }
    return HU_OK;
}

/* ---- safetensors ---- */

enum { LENGTH_BYTES = 8, ALIGNMENT = 8 };

struct hu_safetensors {
    char *file;          /* name for messages */
    uint8_t *owned;      /* the file's bytes, NULL if the caller keeps them */
    const uint8_t *data; /* after the header */
    size_t bytes;        /* of data */
    hu_safetensors_header header;
    const hu_safetensor **by_name; /* [header.count] */
};

static int compare_names(const void *left, const void *right) {
    const hu_safetensor *const *a = left, *const *b = right;
    return strcmp((*a)->name, (*b)->name);
}

static int compare_texts(const void *left, const void *right) {
    const hu_safetensor_text *a = left, *b = right;
    return strcmp(a->name, b->name);
}

/* In the order of the data; arrays without bytes before the one that begins at their place. */
static int compare_places(const void *left, const void *right) {
    const hu_safetensor *a = left, *b = right;
    if (a->begin != b->begin) return a->begin < b->begin ? -1 : 1;
    if (a->end != b->end) return a->end < b->end ? -1 : 1;
    return strcmp(a->name, b->name);
}

/* Elements by the shape, and that the bytes are as many as these need. */
static hu_status check_length(const hu_safetensors *file, hu_safetensor *tensor) {
    char shape[176];
    size_t bits, elements = 1;
    bool fits = true;
    for (int i = 0; i < tensor->shape.rank; i++)
        fits = fits && hu_mul_size(elements, (size_t)tensor->shape.extent[i], &elements);
    fits = fits && hu_mul_size(elements, (size_t)tensor->dtype->bits, &bits);
    hu_shape_print(&tensor->shape, shape, sizeof shape);
    if (!fits || bits % 8 != 0)
        return hu_fail(HU_ERR_CORRUPT,
                       "%s: tensor '%.100s': found shape %s of %s, expected a whole number of "
                       "bytes below 2^64",
                       file->file, tensor->name, shape, tensor->dtype->name);
    tensor->elements = elements;
    if (tensor->end > file->bytes || tensor->begin > tensor->end)
        return hu_fail(HU_ERR_CORRUPT,
                       "%s: tensor '%.100s': found data_offsets %zu to %zu, expected them inside "
                       "the %zu bytes of data",
                       file->file, tensor->name, tensor->begin, tensor->end, file->bytes);
    if (tensor->end - tensor->begin == bits / 8) return HU_OK;
    return hu_fail(HU_ERR_CORRUPT,
                   "%s: tensor '%.100s': found %zu bytes of data, expected %zu (%s of %s)",
                   file->file, tensor->name, tensor->end - tensor->begin, bits / 8, shape,
                   tensor->dtype->name);
}

/* The arrays must follow one another from the first byte of the data to the last. */
static hu_status check_tiling(hu_safetensors *file) {
    size_t next = 0;
    hu_safetensors_header *header = &file->header;
    if (header->count > 1)
        qsort(header->tensors, header->count, sizeof *header->tensors, compare_places);
    for (size_t i = 0; i < header->count; i++) {
        const hu_safetensor *tensor = &header->tensors[i];
        if (tensor->begin != next)
            return hu_fail(HU_ERR_CORRUPT,
                           "%s: tensor '%.100s': found data from %zu on, expected from %zu on, "
                           "where the one before it ends",
                           file->file, tensor->name, tensor->begin, next);
        next = tensor->end;
    }
    if (next == file->bytes) return HU_OK;
    return hu_fail(HU_ERR_CORRUPT, "%s: found %zu bytes behind the last tensor, expected none",
                   file->file, file->bytes - next);
}

/* A name may occur once among arrays and once among the texts. */
static hu_status second_name(const hu_safetensors *file, const char *what, const char *name) {
    return hu_fail(HU_ERR_CORRUPT, "%s: %s '%.100s': found it a second time, expected it once",
                   file->file, what, name);
}

/* Sorted by name for binary search; equal names are neighbours then. */
static hu_status index_names(hu_safetensors *file) {
    hu_safetensors_header *header = &file->header;
    hu_status st = HU_NEW_ARRAY(&file->by_name, header->count);
    if (st != HU_OK) return st;
    for (size_t i = 0; i < header->count; i++) file->by_name[i] = &header->tensors[i];
    if (header->count > 1)
        qsort(file->by_name, header->count, sizeof *file->by_name, compare_names);
    for (size_t i = 1; i < header->count; i++)
        if (compare_names(&file->by_name[i - 1], &file->by_name[i]) == 0)
            return second_name(file, "tensor", file->by_name[i]->name);
    if (header->metadata_count > 1)
        qsort(header->metadata, header->metadata_count, sizeof *header->metadata, compare_texts);
    for (size_t i = 1; i < header->metadata_count; i++)
        if (compare_texts(&header->metadata[i - 1], &header->metadata[i]) == 0)
            return second_name(file, "__metadata__", header->metadata[i].name);
    return HU_OK;
}

/* Length of the header, bounded by the file and by the format. */
static hu_status read_length(hu_byte_reader *reader, size_t *length) {
    uint64_t said;
    hu_status st = hu_read_u64_le(reader, "header length", &said);
    if (st != HU_OK) return st;
    size_t left = hu_reader_left(reader);
    size_t most = left < HU_SAFETENSORS_HEADER_BYTES ? left : HU_SAFETENSORS_HEADER_BYTES;
    *length = (size_t)said;
    if (said <= most) return HU_OK;
    return hu_reader_fail(reader, 0, "header length", "found %llu, expected at most %zu%s",
                          (unsigned long long)said, most,
                          most == left ? " (what follows in the file)" : "");
}

hu_status hu_safetensors_parse(const char *name, const uint8_t *data, size_t bytes,
                               hu_safetensors **result) {
    hu_status st;
    hu_safetensors *file = NULL;
    hu_byte_reader reader = {name, data, bytes, 0};
    const uint8_t *text;
    size_t length;
    *result = NULL;
    HU_TRY(HU_NEW(&file));
    HU_TRY(hu_strdup(name, &file->file));
    HU_TRY(read_length(&reader, &length));
    HU_TRY(hu_read_span(&reader, "header", length, &text));
    /* The header is checked as text, then each array by itself, then their tiling, then names. */
    HU_TRY(hu_safetensors_header_parse(name, text, length, LENGTH_BYTES, &file->header));
    file->data = text + length;
    file->bytes = hu_reader_left(&reader);
    for (size_t i = 0; i < file->header.count; i++)
        HU_TRY(check_length(file, &file->header.tensors[i]));
    HU_TRY(check_tiling(file));
    HU_TRY(index_names(file));
    *result = file;
    file = NULL;
done:
    hu_safetensors_free(file);
    return st;
}

/* Whether the header fits the size of the file: what is checked of it needs none of the numbers.
 * The length of the header was checked by read_length, and is known to lie within the file. */
static hu_status check_header(const char *path, size_t length, size_t file_bytes) {
    uint8_t *head;
    size_t got;
    uint64_t now;
    hu_safetensors *file = NULL;
    hu_status st = HU_NEW_ARRAY(&head, LENGTH_BYTES + length);
    if (st == HU_OK) st = hu_file_head(path, head, LENGTH_BYTES + length, &got, &now);
    /* A file that was changed meanwhile is checked when it is read. */
    if (st == HU_OK && got == LENGTH_BYTES + length && now == file_bytes)
        st = hu_safetensors_parse(path, head, file_bytes, &file);
    hu_safetensors_free(file);
    hu_free(head);
    return st;
}

/* Refuses a file whose size contradicts its header before all of it is read. */
static hu_status check_size(const char *path) {
    uint8_t head[LENGTH_BYTES];
    size_t got, length;
    uint64_t file_bytes;
    hu_status st = hu_file_head(path, head, sizeof head, &got, &file_bytes);
    if (st != HU_OK || got < sizeof head || file_bytes > HU_SAFETENSORS_FILE_BYTES) return st;
    hu_byte_reader reader = {path, head, (size_t)file_bytes, 0};
    st = read_length(&reader, &length);
    if (st == HU_OK) return check_header(path, length, (size_t)file_bytes);
    hu_status other = hu_other_weights(path, head, sizeof head);
    return other == HU_OK
               ? read_length(&(hu_byte_reader){path, head, (size_t)file_bytes, 0}, &length)
               : other;
}

hu_status hu_safetensors_open(const char *path, hu_safetensors **result) {
    uint8_t *data;
    size_t bytes;
    *result = NULL;
    hu_status st = check_size(path);
    if (st == HU_OK) st = hu_file_read_plain(path, HU_SAFETENSORS_FILE_BYTES, &data, &bytes);
    if (st != HU_OK) return st;
    st = hu_safetensors_parse(path, data, bytes, result);
    if (st == HU_OK)
        (*result)->owned = data;
    else
        hu_free(data);
    return st;
}

void hu_safetensors_free(hu_safetensors *file) {
    if (!file) return;
    hu_safetensors_header_free(&file->header);
    hu_free(file->by_name);
    hu_free(file->owned);
    hu_free(file->file);
    hu_free(file);
}

size_t hu_safetensors_count(const hu_safetensors *file) {
    return file->header.count;
}

const hu_safetensor *hu_safetensors_at(const hu_safetensors *file, size_t index) {
    return &file->header.tensors[index];
}

const hu_safetensor *hu_safetensors_find(const hu_safetensors *file, const char *name) {
    hu_safetensor wanted = {.name = name};
    const hu_safetensor *key = &wanted;
    size_t count = file->header.count;
    const hu_safetensor **hit =
        count ? bsearch(&key, file->by_name, count, sizeof key, compare_names) : NULL;
    return hit ? *hit : NULL;
}

const char *hu_safetensors_metadata(const hu_safetensors *file, const char *name) {
    hu_safetensor_text key = {.name = name};
    size_t count = file->header.metadata_count;
    const hu_safetensor_text *hit =
        count ? bsearch(&key, file->header.metadata, count, sizeof key, compare_texts) : NULL;
    return hit ? hit->text : NULL;
}

/* Codes of 8 or 16 bits. */
static hu_status read_codes(hu_byte_reader *reader, const hu_safetensor *tensor,
                            const hu_format *format, int exponent, float *values) {
    hu_status st = HU_OK;
    for (size_t i = 0; i < tensor->elements; i++) {
        uint8_t low;
        uint16_t code;
        if (tensor->dtype->bits == 8) {
            HU_TRY(hu_read_u8(reader, tensor->name, &low));
            code = low;
        } else {
            HU_TRY(hu_read_u16_le(reader, tensor->name, &code));
        }
        st = hu_format_decode(format, code, &values[i]);
        if (st != HU_OK)
            return hu_fail(HU_ERR_CORRUPT,
                           "%s: tensor '%.100s': found code %u at element %zu, "
                           "expected one of %u bits",
                           reader->file, tensor->name, code, i, hu_format_bits(format));
        values[i] = ldexpf(values[i], exponent);
    }
done:
    return st;
}

/* F64: the only dtype whose numbers are rounded. */
static hu_status read_doubles(hu_byte_reader *reader, const char *name, size_t count,
                              float *values) {
    hu_status st = HU_OK;
    double value;
    for (size_t i = 0; i < count && st == HU_OK; i++) {
        st = hu_read_f64_le(reader, name, &value);
        values[i] = (float)value;
    }
    return st;
}

hu_status hu_safetensors_read(const hu_safetensors *file, const hu_safetensor *tensor,
                              float *values) {
    hu_format format;
    hu_byte_reader reader = {file->file, file->data, tensor->end, tensor->begin};
    const hu_safetensor_dtype *dtype = tensor->dtype;
    if (!dtype->format)
        return hu_fail(
            HU_ERR_UNSUPPORTED,
            "%s: tensor '%.100s': found dtype %s, expected F32, F64, F16, BF16 or one of "
            "F8_E4M3, F8_E5M2",
            file->file, tensor->name, dtype->name);
    if (strcmp(dtype->name, "F32") == 0)
        return hu_read_f32s_le(&reader, tensor->name, tensor->elements, values);
    if (strcmp(dtype->name, "F64") == 0)
        return read_doubles(&reader, tensor->name, tensor->elements, values);
    hu_status st = hu_format_parse(dtype->format, &format);
    return st == HU_OK ? read_codes(&reader, tensor, &format, 0, values) : st;
}

hu_status hu_safetensors_decode(const hu_safetensors *file, const hu_safetensor *tensor,
                                const hu_format *format, int exponent, float *values) {
    hu_byte_reader reader = {file->file, file->data, tensor->end, tensor->begin};
    const char *dtype = tensor->dtype->name;
    if (strcmp(dtype, "U8") == 0 || strcmp(dtype, "U16") == 0)
        return read_codes(&reader, tensor, format, exponent, values);
    return hu_fail(HU_ERR_UNSUPPORTED,
                   "%s: tensor '%.100s': found dtype %s, expected codes as U8 or U16", file->file,
                   tensor->name, dtype);
}

/* ---- writing ---- */

/* JSON text goes straight into the bytes of the file. */
static hu_status put_text(hu_byte_writer *out, const char *text) {
    return hu_write_bytes(out, text, strlen(text));
}

/* A JSON string; only what JSON requires is escaped. */
static hu_status put_string(hu_byte_writer *out, const char *text) {
    hu_status st;
    char escape[8];
    HU_TRY(put_text(out, "\""));
    for (; *text; text++) {
        uint8_t c = (uint8_t)*text;
        if (c < 0x20)
            snprintf(escape, sizeof escape, "\\u%04x", c);
        else
            snprintf(escape, sizeof escape, c == '"' || c == '\\' ? "\\%c" : "%c", c);
        HU_TRY(put_text(out, escape));
    }
    HU_TRY(put_text(out, "\""));
done:
    return st;
}

/* "__metadata__" as the first pair of the header, where there are texts. */
static hu_status put_metadata(hu_byte_writer *out, const hu_safetensor_text *texts, size_t count) {
    hu_status st = HU_OK;
    for (size_t i = 0; i < count; i++) {
        HU_TRY(put_text(out, i ? "," : "\"__metadata__\":{"));
        HU_TRY(put_string(out, texts[i].name));
        HU_TRY(put_text(out, ":"));
        HU_TRY(put_string(out, texts[i].text));
    }
    if (count) HU_TRY(put_text(out, "}"));
done:
    return st;
}

static const char *dtype_of(const hu_safetensor_source *tensor) {
    return tensor->dtype ? tensor->dtype : "F32";
}

/* Bytes of an array whose dtype is known; false: they do not fit 64 bits. */
static bool count_bytes(const hu_safetensor_source *tensor, size_t *bytes) {
    enum { BYTE_BITS = 8 };
    size_t each = (size_t)hu_safetensor_dtype_find(dtype_of(tensor))->bits / BYTE_BITS;
    return hu_mul_size((size_t)hu_shape_elements(&tensor->shape), each, bytes);
}

static hu_status put_data(hu_byte_writer *out, const hu_safetensor_source *tensor) {
    size_t bytes = 0;
    if (!tensor->dtype)
        return hu_write_f32s(out, tensor->values, (size_t)hu_shape_elements(&tensor->shape));
    count_bytes(tensor, &bytes); /* fits: put_entry has looked */
    return hu_write_bytes(out, tensor->bytes, bytes);
}

/* One entry; *begin moves after its data. */
static hu_status put_entry(hu_byte_writer *out, const hu_safetensor_source *tensor, size_t *begin) {
    hu_status st;
    char text[64];
    size_t bytes, end;
    if (!count_bytes(tensor, &bytes) || !hu_add_size(*begin, bytes, &end))
        return hu_fail(HU_ERR_SHAPE, "tensor '%s': its bytes do not fit 64 bits", tensor->name);
    HU_TRY(put_string(out, tensor->name));
    HU_TRY(put_text(out, ":{\"dtype\":"));
    HU_TRY(put_string(out, dtype_of(tensor)));
    HU_TRY(put_text(out, ",\"shape\":["));
    for (int i = 0; i < tensor->shape.rank; i++) {
        snprintf(text, sizeof text, i ? ",%lld" : "%lld", (long long)tensor->shape.extent[i]);
        HU_TRY(put_text(out, text));
    }
    snprintf(text, sizeof text, "],\"data_offsets\":[%zu,%zu]}", *begin, end);
    HU_TRY(put_text(out, text));
    *begin = end;
done:
    return st;
}

/* A name that is empty, repeated, reserved or not UTF-8, and a shape that is none. */
static hu_status check_source(const hu_safetensor_source *tensors, size_t index) {
    const char *name = tensors[index].name;
    hu_status st = hu_shape_check(&tensors[index].shape);
    if (st != HU_OK) return hu_fail_within(st, "tensor '%s': ", name);
    bool is_second = false;
    for (size_t i = 0; i < index; i++) is_second |= strcmp(tensors[i].name, name) == 0;
    if (!name[0] || is_second || strcmp(name, "__metadata__") == 0 || !hu_text_is_utf8(name))
        return hu_fail(HU_ERR_ARGUMENT, "tensor '%s': found %s, expected a name of its own", name,
                       is_second ? "the name a second time" : "what cannot be a name");
    const hu_safetensor_dtype *dtype = hu_safetensor_dtype_find(dtype_of(&tensors[index]));
    if (!dtype || dtype->bits % 8 != 0)
        return hu_fail(HU_ERR_ARGUMENT, "tensor '%s': found dtype %s, expected one of whole bytes",
                       name, dtype_of(&tensors[index]));
    return HU_OK;
}

hu_status hu_safetensors_print(const hu_safetensor_source *tensors, size_t count,
                               const hu_safetensor_text *metadata, size_t texts, uint8_t **data,
                               size_t *bytes) {
    hu_status st = HU_OK;
    hu_byte_writer out = {0};
    size_t begin = 0;
    *data = NULL;
    *bytes = 0;
    for (size_t i = 0; i < count; i++) HU_TRY(check_source(tensors, i));
    HU_TRY(hu_write_u64(&out, 0));
    HU_TRY(put_text(&out, "{"));
    HU_TRY(put_metadata(&out, metadata, texts));
    for (size_t i = 0; i < count; i++) {
        if (i || texts) HU_TRY(put_text(&out, ","));
        HU_TRY(put_entry(&out, &tensors[i], &begin));
    }
    HU_TRY(put_text(&out, "}"));
    /* Blanks after the JSON, which the format allows, bring the data to a multiple of 8 bytes. */
    while (out.size % ALIGNMENT) HU_TRY(put_text(&out, " "));
    hu_writer_patch_u64(&out, 0, out.size - LENGTH_BYTES);
    HU_TRY(hu_writer_reserve(&out, begin));
    for (size_t i = 0; i < count; i++) HU_TRY(put_data(&out, &tensors[i]));
    *data = out.data;
    *bytes = out.size;
    out.data = NULL;
done:
    hu_writer_free(&out);
    return st;
}

hu_status hu_safetensors_write(const char *path, const hu_safetensor_source *tensors, size_t count,
                               const hu_safetensor_text *metadata, size_t texts, size_t *bytes) {
    uint8_t *data;
    size_t size;
    hu_status st = hu_safetensors_print(tensors, count, metadata, texts, &data, &size);
    if (st == HU_OK) st = hu_file_replace(path, data, size);
    hu_free(data);
    if (bytes) *bytes = st == HU_OK ? size : 0;
    return st;
}
