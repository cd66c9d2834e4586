#include "sound/wav.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/memory.h"

enum { TAG_BYTES = 4, PCM = 1, EXTENSIBLE = 0xfffe, SAMPLE_BYTES = 2, BITS = 16 };

/* What the chunk "fmt " says. */
typedef struct wav_format {
    uint16_t coding, channels, align, bits;
    uint32_t rate, bytes_of_second;
} wav_format;

static bool is_tag(const uint8_t *found, const char *tag) {
    return memcmp(found, tag, TAG_BYTES) == 0;
}

/* The extensible header says the coding in a number of 16 bytes: that of PCM is this, behind the
 * coding itself. */
static hu_status read_extension(hu_byte_reader *reader, uint16_t *coding) {
    static const uint8_t rest[] = {0x00, 0x00, 0x00, 0x00, 0x10, 0x00, 0x80,
                                   0x00, 0x00, 0xaa, 0x00, 0x38, 0x9b, 0x71};
    uint16_t size, valid_bits;
    uint32_t speakers;
    hu_status st;
    HU_TRY(hu_read_u16_le(reader, "size of the extension", &size));
    HU_TRY(hu_read_u16_le(reader, "bits that are valid", &valid_bits));
    HU_TRY(hu_read_u32_le(reader, "speakers", &speakers));
    HU_TRY(hu_read_u16_le(reader, "coding of the extension", coding));
    if (hu_reader_left(reader) < sizeof rest ||
        memcmp(reader->data + reader->offset, rest, sizeof rest) != 0 || valid_bits != BITS)
        return hu_fail(HU_ERR_CORRUPT,
                       "%s: found an extensible header with coding %u and %u valid bits, expected "
                       "PCM of %d",
                       reader->file, *coding, valid_bits, BITS);
done:
    return st;
}

/* chunk: the contents of "fmt ". */
static hu_status read_format(hu_byte_reader *chunk, wav_format *f) {
    hu_status st;
    HU_TRY(hu_read_u16_le(chunk, "coding", &f->coding));
    HU_TRY(hu_read_u16_le(chunk, "channels", &f->channels));
    HU_TRY(hu_read_u32_le(chunk, "samples of a second", &f->rate));
    HU_TRY(hu_read_u32_le(chunk, "bytes of a second", &f->bytes_of_second));
    HU_TRY(hu_read_u16_le(chunk, "bytes of a moment", &f->align));
    HU_TRY(hu_read_u16_le(chunk, "bits of a sample", &f->bits));
    if (f->coding == EXTENSIBLE) HU_TRY(read_extension(chunk, &f->coding));
    if (f->coding != PCM || f->bits != BITS || f->channels != 1 || f->align != SAMPLE_BYTES ||
        f->rate == 0)
        return hu_fail(HU_ERR_CORRUPT,
                       "%s: found coding %u of %u bits in %u channels at %u samples a second, "
                       "expected coding %d (PCM) of %d bits in 1 channel",
                       chunk->file, f->coding, f->bits, f->channels, f->rate, PCM, BITS);
done:
    return st;
}

/* The chunk that the reader stands before, which moves behind it and the byte that fills it up to
 * an even length. */
static hu_status next_chunk(hu_byte_reader *reader, const uint8_t **tag, hu_byte_reader *chunk) {
    uint32_t size;
    hu_status st;
    if (hu_reader_left(reader) < TAG_BYTES)
        return hu_fail(HU_ERR_CORRUPT,
                       "%s: offset %zu: found the end of the file, expected a chunk", reader->file,
                       reader->offset);
    *tag = reader->data + reader->offset;
    reader->offset += TAG_BYTES;
    HU_TRY(hu_read_u32_le(reader, "size of a chunk", &size));
    size_t left = hu_reader_left(reader);
    if (size > left)
        return hu_fail(HU_ERR_CORRUPT,
                       "%s: offset %zu: found %zu bytes of a chunk, expected %" PRIu32
                       ": the file is cut off",
                       reader->file, reader->offset, left, size);
    *chunk = (hu_byte_reader){reader->file, reader->data, reader->offset + size, reader->offset};
    reader->offset += size;
    if (size % 2 && hu_reader_left(reader) > 0) reader->offset++;
done:
    return st;
}

/* RIFF, its size, WAVE: what is left for the reader is the inside. */
static hu_status enter(hu_byte_reader *reader) {
    enum { HEAD = 12, SIZE_AT = TAG_BYTES, KIND_AT = 8 };
    const uint8_t *data = reader->data;
    uint32_t size;
    hu_status st;
    if (reader->size < HEAD || !is_tag(data, "RIFF") || !is_tag(data + KIND_AT, "WAVE"))
        return hu_fail(HU_ERR_CORRUPT, "%s: found %zu bytes of another kind, expected RIFF WAVE",
                       reader->file, reader->size);
    reader->offset = SIZE_AT;
    HU_TRY(hu_read_u32_le(reader, "size of the file", &size));
    size_t left = hu_reader_left(reader);
    if (size > left)
        return hu_fail(HU_ERR_CORRUPT,
                       "%s: found %zu bytes behind the head of RIFF, expected %" PRIu32
                       ": the file is cut off",
                       reader->file, left, size);
    if (size >= TAG_BYTES) reader->size = reader->offset + size;
    reader->offset = HEAD;
done:
    return st;
}

/* chunk: the contents of "data". */
static hu_status take_samples(const hu_byte_reader *chunk, hu_wav *wav) {
    size_t bytes = hu_reader_left(chunk), count = bytes / SAMPLE_BYTES;
    if (count == 0 || bytes % SAMPLE_BYTES)
        return hu_fail(HU_ERR_CORRUPT, "%s: found %zu bytes of sound, expected samples of %d bytes",
                       chunk->file, bytes, SAMPLE_BYTES);
    hu_status st = HU_NEW_ARRAY(&wav->sample, count);
    if (st != HU_OK) return st;
    const uint8_t *from = chunk->data + chunk->offset;
    for (size_t i = 0; i < count; i++)
        wav->sample[i] = (int16_t)(uint16_t)(from[2 * i] | from[2 * i + 1] << 8);
    wav->count = (int64_t)count;
    return HU_OK;
}

hu_status hu_wav_decode(const char *name, const uint8_t *data, size_t bytes, hu_wav *wav) {
    hu_byte_reader reader = {name, data, bytes, 0}, chunk, sound = {0};
    wav_format format = {0};
    const uint8_t *tag = data;
    hu_status st;
    *wav = (hu_wav){0};
    HU_TRY(enter(&reader));
    while (hu_reader_left(&reader) > 0 && !(sound.file && format.rate)) {
        HU_TRY(next_chunk(&reader, &tag, &chunk));
        if (is_tag(tag, "fmt ")) HU_TRY(read_format(&chunk, &format));
        if (is_tag(tag, "data")) sound = chunk;
    }
    if (!sound.file || !format.rate)
        HU_TRY(hu_fail(HU_ERR_CORRUPT, "%s: found no chunk '%s', expected one", name,
                       format.rate ? "data" : "fmt "));
    wav->rate = (int64_t)format.rate;
    st = take_samples(&sound, wav);
done:
    return st;
}
