/* Links are read as users write them, and told as they are sold. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <string.h>

#include "comm/cost_model.h"

static hu_comm_link link_of(const char *rate, const char *latency) {
    hu_comm_link link;
    assert_int_equal(hu_comm_link_parse(rate, latency, &link), HU_OK);
    return link;
}

static void links_are_read_with_their_units(void **state) {
    (void)state;
    hu_comm_link link = link_of("10G", "1.5us");
    assert_true(link.bits_per_second == 1e10 && link.latency_seconds == 1.5 * 1e-6);
    static const struct {
        const char *text;
        double bits_per_second;
    } rates[] = {{"100M", 1e8},      {"1e6", 1e6},     {"10g", 1e10},      {"10Gbit", 1e10},
                 {"100Mbps", 1e8},   {"100mbit", 1e8}, {"10Gbit/s", 1e10}, {"56 Kbps", 56e3},
                 {"2.5 Gbit", 25e8}, {"1T", 1e12},     {"10bit", 10.0},    {"3k", 3e3}};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
        assert_true(link_of(rates[i].text, "2ms").bits_per_second == rates[i].bits_per_second);
    assert_true(link_of("1G", "0s").latency_seconds == 0.0);
    assert_true(link_of("1G", "2 ms").latency_seconds == 2e-3);
}

static void what_is_no_link_is_refused(void **state) {
    (void)state;
    hu_comm_link link;
    static const char *const wrong[][2] = {
        {"10X", "1us"}, {"", "1us"},       {"0", "1us"},     {"-1G", "1us"},    {"nan", "1s"},
        {"10G", "5"},   {"10G", "-1us"},   {"inf", "1s"},    {"10Gb it", "1s"}, {"G", "1s"},
        {"10GG", "1s"}, {"10Gbits", "1s"}, {"10G", "10 US"}, {"10G", ""},       {"1e308T", "1s"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(hu_comm_link_parse(wrong[i][0], wrong[i][1], &link), HU_ERR_PARSE);
}

/* Bytes are 8 times as many bits: nobody is asked to guess which were meant. */
static void bytes_are_refused_by_name(void **state) {
    (void)state;
    hu_comm_link link;
    static const char *const bytes[] = {"10GB", "10GB/s", "10GBps", "1B", "10 GB", "10Gbyte"};
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
        assert_int_equal(hu_comm_link_parse(bytes[i], "1us", &link), HU_ERR_PARSE);
        assert_non_null(strstr(hu_last_error(), "bytes; expected bits"));
    }
}

static void links_are_told_as_they_are_sold(void **state) {
    (void)state;
    static const char *const rows[][3] = {{"100M", "10us", "100 Mbit/s and 10 us a link"},
                                          {"10G", "0s", "10 Gbit/s and 0 us a link"},
                                          {"2.5G", "1ms", "2.5 Gbit/s and 1000 us a link"},
                                          {"400", "1us", "400 bit/s and 1 us a link"},
                                          {"1K", "1us", "1 Kbit/s and 1 us a link"},
                                          {"5000T", "1us", "5000 Tbit/s and 1 us a link"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[HU_COMM_LINK_BYTES];
        const hu_comm_link link = link_of(rows[i][0], rows[i][1]);
        hu_comm_link_print(&link, text);
        assert_string_equal(text, rows[i][2]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(links_are_read_with_their_units),
        cmocka_unit_test(what_is_no_link_is_refused),
        cmocka_unit_test(bytes_are_refused_by_name),
        cmocka_unit_test(links_are_told_as_they_are_sold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
