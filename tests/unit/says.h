/* A failure, and words of its message. */
#ifndef TEST_SAYS_H
#define TEST_SAYS_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <halfulp/status.h>

static inline void says(hu_status found, hu_status expected, const char *words) {
    assert_int_equal(found, expected);
    if (!strstr(hu_last_error(), words)) fail_msg("no '%s' in: %s", words, hu_last_error());
}

#endif
