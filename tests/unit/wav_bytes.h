/* WAV files, byte by byte. */
#ifndef TEST_WAV_BYTES_H
#define TEST_WAV_BYTES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { WAV_MOST = 1 << 18, WAV_CODING_AT = 20 };

typedef struct wav_writer {
    uint8_t data[WAV_MOST];
    size_t bytes;
} wav_writer;

static inline void wav_number(wav_writer *w, uint32_t value, int bytes) {
    for (int i = 0; i < bytes; i++) w->data[w->bytes++] = (uint8_t)(value >> 8 * i);
}

static inline void wav_chunk(wav_writer *w, const char *tag, const void *data, size_t bytes) {
    memcpy(w->data + w->bytes, tag, 4);
    w->bytes += 4;
    wav_number(w, (uint32_t)bytes, 4);
    if (bytes > 0) memcpy(w->data + w->bytes, data, bytes);
    w->bytes += bytes;
    if (bytes % 2) w->data[w->bytes++] = 0;
}

/* RIFF, WAVE and the chunk "fmt ", whose coding stands at WAV_CODING_AT. */
static inline wav_writer wav_begin(uint32_t rate, uint16_t channels, uint16_t bits,
                                   bool is_extensible) {
    static const uint8_t rest[] = {0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0xaa, 0, 0x38, 0x9b, 0x71};
    wav_writer w = {.bytes = 0};
    uint16_t align = (uint16_t)(channels * bits / 8);
    memcpy(w.data, "RIFF\0\0\0\0WAVEfmt ", 16);
    w.bytes = 16;
    wav_number(&w, is_extensible ? 40 : 16, 4);
    wav_number(&w, is_extensible ? 0xfffe : 1, 2);
    wav_number(&w, channels, 2);
    wav_number(&w, rate, 4);
    wav_number(&w, rate * align, 4);
    wav_number(&w, align, 2);
    wav_number(&w, bits, 2);
    if (!is_extensible) return w;
    wav_number(&w, 22, 2);
    wav_number(&w, bits, 2);
    wav_number(&w, 4, 4);
    wav_number(&w, 1, 2);
    memcpy(w.data + w.bytes, rest, sizeof rest);
    w.bytes += sizeof rest;
    return w;
}

/* Puts the size into RIFF; returns the bytes of the file. */
static inline size_t wav_end(wav_writer *w) {
    for (int i = 0; i < 4; i++) w->data[4 + i] = (uint8_t)((w->bytes - 8) >> 8 * i);
    return w->bytes;
}

#endif
