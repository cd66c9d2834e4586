/* Data sets that cannot be opened: an error that says so, and nothing left in memory. */
#ifndef TEST_DATA_REFUSED_H
#define TEST_DATA_REFUSED_H
#include <halfulp/data.h>

#include "base/memory.h"
#include "data_files.h"

/* part: of the message. */
static inline void refuse_data(const char *spec, const hu_image_choice *choice, hu_status expected,
                               const char *part) {
    hu_dataset *d;
    uint64_t blocks = hu_memory_count().live_blocks;
    assert_int_equal(hu_dataset_open_images(spec, NULL, choice, &d), expected);
    assert_null(d);
    if (!strstr(hu_last_error(), part)) fail_msg("'%s' lacks '%s'", hu_last_error(), part);
    assert_int_equal(hu_memory_count().live_blocks, blocks);
}

/* Every allocation fails once before the data set opens; the number of the first that may. */
static inline uint64_t fail_every_allocation(const char *spec, const hu_data_limits *limits,
                                             const hu_image_choice *choice) {
    uint64_t blocks = hu_memory_count().live_blocks, nth = 0;
    hu_status st;
    do {
        hu_dataset *d;
        hu_memory_fail_at(++nth);
        st = hu_dataset_open_images(spec, limits, choice, &d);
        hu_memory_fail_at(0);
        hu_dataset_close(d);
        assert_true(st == HU_OK || st == HU_ERR_MEMORY);
        assert_int_equal(hu_memory_count().live_blocks, blocks);
    } while (st != HU_OK);
    return nth;
}

#endif
