/* data/segments.h - samples of segments:FILE, for whoever assumes some. */
#ifndef HU_DATA_SEGMENTS_H
#define HU_DATA_SEGMENTS_H
#include <stdint.h>

/* Words that are hidden at most of so many tokens: 15 of 100, rounded up. */
static inline int64_t hu_segments_hidden(int64_t length) {
    return (3 * length + 19) / 20;
}

#endif
