/* Formats by table: names, messages of bad files, the register, copies of a run's folder, and that
 * a float written as a table is that float in every mode. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <halfulp/format.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/memory.h"
#include "base/rng.h"
#include "format/table/keep.h"
#include "format/table/table.h"
#include "format/value.h"
#include "kernel/round/round.h"

static char folder[] = "/tmp/halfulp-tables-XXXXXX";

static hu_format parsed(const char *name) {
    hu_format format;
    if (hu_format_parse(name, &format) != HU_OK) fail_msg("%s: %s", name, hu_last_error());
    return format;
}

/* Writes a file of the folder; its format's name. */
static const char *file_of(const char *name, const char *text, size_t bytes) {
    static char format[120];
    char path[100];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
    snprintf(format, sizeof format, "table:%s", path);
    return format;
}

static const char *text_of(const char *name, const char *text) {
    return file_of(name, text, strlen(text));
}

static void names_are_read_and_printed(void **state) {
    static const char *const names[][2] = {{"posit8", "posit8"},
                                           {"POSIT16", "posit16"},
                                           {"posit8:es=2", "posit8"},
                                           {"posit8:es=1:ovf=inf", "posit8:es=1:ovf=inf"},
                                           {"takum8", "takum8"},
                                           {"TakumLog16", "takumlog16"},
                                           {"hif8:ovf=inf", "hif8"},
                                           {"hif8:ovf=sat:bias=-3", "hif8:bias=-3:ovf=sat"},
                                           {"lns8:f=3", "lns8"},
                                           {"lns8:f=4", "lns8:f=4"},
                                           {"lns8:base=1.25", "lns8:base=1.25"},
                                           {"lns8:base=1.00001", "lns8:base=1.00001"},
                                           {"lns16:f=4", "lns16:f=4"},
                                           {"nf4", "nf4"},
                                           {"ternary:bias=4", "ternary:bias=4"},
                                           {"book:-1.0..1:5", "book:-1..1:5"},
                                           {"book:0..0x1p4:17:ovf=nan", "book:0..16:17:ovf=nan"}};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char text[HU_FORMAT_TEXT_BYTES];
        hu_format format = parsed(names[i][0]), again;
        assert_int_equal(hu_format_print(&format, text, sizeof text), HU_OK);
        assert_string_equal(text, names[i][1]);
        again = parsed(text);
        assert_true(hu_format_equal(&format, &again));
        assert_int_equal(format.table, again.table);
    }
}

static void refused(const char *name, hu_status status, const char *words) {
    hu_format format = {.table = 7};
    assert_int_equal(hu_format_parse(name, &format), status);
    if (!strstr(hu_last_error(), words)) fail_msg("%s\nwithout '%s'", hu_last_error(), words);
    assert_int_equal(format.table, 0);
}

static void names_outside_are_refused(void **state) {
    (void)state;
    refused("posit2", HU_ERR_FORMAT, "column 6: found 2, expected bits 3..16");
    refused("posit8:es=9", HU_ERR_FORMAT, "column 11: found 9, expected exponent bits 0..4");
    refused("posit", HU_ERR_UNKNOWN, "positN, N = 3..16");
    refused("takum8:es=1", HU_ERR_PARSE, "column 8: found 'e', expected 'bias=' or 'ovf='");
    refused("takum8:bias=1", HU_ERR_FORMAT, "bias 1, allowed 0..0 for takum8");
    refused("posit8:ovf=no", HU_ERR_PARSE, "column 12: found 'n', expected 'inf', 'sat', 'nan'");
    refused("posit8:bias=1:bias=1", HU_ERR_PARSE, "each at most once");
    refused("lns8:base=1", HU_ERR_FORMAT, "found base 1, expected 1.00001..1024");
    refused("book:1..1:3", HU_ERR_FORMAT, "expected LO below HI");
    refused("book:0..1:1", HU_ERR_FORMAT, "found 1, expected numbers 2..65536");
    refused("book:0..1:65537", HU_ERR_FORMAT, "found 65537");
    refused("book:0..1e39:3", HU_ERR_FORMAT, "expected a float32");
    refused("table:", HU_ERR_PARSE, "column 7: found the end, expected the path of a file");
    refused("table:/no/such/file", HU_ERR_MISSING, "/no/such/file");
    refused("table:/tmp", HU_ERR_ARGUMENT, "/tmp: found a folder");
    refused("table:/dev/null", HU_ERR_ARGUMENT, "/dev/null: found a device, expected a file");
}

static void bad_files_are_told_by_line(void **state) {
    char *many = NULL;
    size_t used = 0;
    (void)state;
    refused(text_of("equal", "0\n1\n-1\n2\n1\n"), HU_ERR_FORMAT,
            "equal, line 5: found 1 again, the number of line 2");
    static const char *const paths[] = {"a b", "a,b", "a;b", "a+b", "a\"b", "a\\b", "a\tb", "a\nb"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        char text[16];
        snprintf(text, sizeof text, "table:%s", paths[i]);
        refused(text, HU_ERR_PARSE, "expected a path without blanks");
    }
    refused(text_of("zero", "0\n1\n0\n"), HU_ERR_FORMAT, "line 3: found 0 again");
    refused(text_of("order", "0 0.5\n1 2.5\n2\n"), HU_ERR_FORMAT,
            "line 2: found the boundary 2.5 of 1, expected one from there to the next number, 2");
    refused(text_of("below", "0 -0.5\n1\n"), HU_ERR_FORMAT, "line 1: found the boundary -0.5");
    refused(text_of("nan", "nan\nnan\n"), HU_ERR_FORMAT, "2 codes without a finite number");
    refused(text_of("zero", "0\ninf\n-0\nnan\n"), HU_ERR_FORMAT, "found 0 alone");
    refused(text_of("large", "0\n1e39\n"), HU_ERR_PARSE,
            "line 2: found '1e39', expected a number of float32");
    refused(text_of("tiny", "0\n1e-50\n"), HU_ERR_PARSE, "line 2: found '1e-50'");
    refused(text_of("word", "0\n1\none\n"), HU_ERR_PARSE, "line 3: found 'one'");
    refused(text_of("three", "0 1\n1 2 3\n"), HU_ERR_PARSE, "line 2: found '3'");
    refused(text_of("special", "0\ninf 3\n"), HU_ERR_PARSE, "line 2: found '3', expected no");
    refused(text_of("empty", ""), HU_ERR_FORMAT, "found 0 codes, expected 2..65536");
    refused(text_of("one", "# one\n1\n"), HU_ERR_FORMAT, "found 1 codes");
    refused(file_of("binary", "0\n\0\n", 4), HU_ERR_CORRUPT, "binary");
    assert_int_equal(HU_NEW_ARRAY(&many, 70000 * 8), HU_OK);
    for (int i = 0; i < 70000; i++) used += (size_t)sprintf(many + used, "%d\n", i);
    refused(file_of("many", many, used), HU_ERR_LIMIT, "many, line 65537: found more than 65536");
    hu_free(many);
}

/* Comments, blanks, a mark of the editor's, both ends of lines; boundaries where they are given. */
static void files_are_read(void **state) {
    static const char text[] = "\xef\xbb\xbf# a note\r\n\r\n0x0 0.75\r\n  1 # one\n-2\t-1.25\nnan\n"
                               "inf\n-inf\n-0";
    (void)state;
    hu_format f = parsed(text_of("good", text));
    const struct {
        float x, y;
    } cases[] = {{0.7f, 0},   {0.8f, 1},        {0.75f, 0}, {-1.2f, 0},     {-1.3f, -2},
                 {-1.25f, 0}, {1.5f, INFINITY}, {1.4f, 1},  {-9, -INFINITY}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_float_equal(hu_format_round(&f, HU_ROUND_NEAREST_EVEN, cases[i].x, 0), cases[i].y,
                           0);
    uint32_t code;
    float x;
    assert_int_equal(hu_format_bits(&f), 3);
    assert_int_equal(hu_format_limits_of(&f).codes, 7);
    assert_int_equal(hu_format_encode(&f, NAN, &code), HU_OK);
    assert_int_equal(code, 3);
    assert_int_equal(hu_format_encode(&f, -INFINITY, &code), HU_OK);
    assert_int_equal(code, 5);
    assert_int_equal(hu_format_encode(&f, -0.0f, &code), HU_OK);
    assert_int_equal(code, 0);
    assert_int_equal(hu_format_encode(&f, 0.5f, &code), HU_ERR_FORMAT);
    assert_int_equal(hu_format_decode(&f, 6, &x), HU_OK);
    assert_int_equal(hu_f32_bits(x), HU_F32_SIGN);
    assert_int_equal(hu_format_decode(&f, 7, &x), HU_ERR_ARGUMENT);
}

/* All codes of e4m3 and e5m2fnuz as files; both have the float's bits in every mode, by the
 * reference and by the kernels. */
static void a_float_as_a_table_is_the_float(void **state) {
    static const char *const names[] = {"e4m3", "e5m2fnuz:ovf=sat", "e3m2", "fp16"};
    static char text[65536 * 20];
    enum { N = 4096 };
    static float x[N], y[N], z[N];
    const hu_random_key key = {1, 2, 3};
    (void)state;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        hu_format floats = parsed(names[k]), f;
        size_t used = 0;
        for (uint32_t c = 0; c < 1u << hu_format_bits(&floats); c++) {
            float value;
            assert_int_equal(hu_format_decode(&floats, c, &value), HU_OK);
            used += (size_t)sprintf(text + used, "%.9g\n", (double)value);
        }
        f = parsed(file_of("float", text, used));
        for (int i = 0; i < N; i++) {
            uint32_t word = hu_random_word(&key, (uint64_t)i);
            int exponent = (int)(word % 48) - 26;
            x[i] = ldexpf(hu_f32_of_bits((word & 0x807fffff) | 0x3f800000), exponent);
        }
        for (int m = 0; m < HU_ROUND_COUNT; m++) {
            assert_int_equal(hu_round_f32(N, x, y, &floats, (hu_rounding)m, &key, 9, NULL), HU_OK);
            assert_int_equal(hu_round_f32(N, x, z, &f, (hu_rounding)m, &key, 9, NULL), HU_OK);
            /* A table has one zero. */
            for (int i = 0; i < N; i++)
                if (hu_f32_bits(y[i] + 0.0f) != hu_f32_bits(z[i]) && !(isnan(y[i]) && isnan(z[i])))
                    fail_msg("%s %s: x = %a: %a, as a table %a", names[k],
                             hu_rounding_name((hu_rounding)m), (double)x[i], (double)y[i],
                             (double)z[i]);
        }
    }
}

/* One number for one table, whoever asks; another for changed contents. */
static void the_register_knows_equal_tables(void **state) {
    uint32_t number[64];
    char name[120];
    (void)state;
#pragma omp parallel for schedule(static, 1)
    for (int i = 0; i < 64; i++) {
        hu_format format;
        number[i] =
            hu_format_parse(i % 2 ? "posit9" : "takum9", &format) == HU_OK ? format.table : 0;
    }
    for (int i = 2; i < 64; i++) assert_int_equal(number[i], number[i % 2]);
    assert_int_not_equal(number[0], number[1]);
    hu_format first = parsed(text_of("same", "0\n1\n")), again = parsed(text_of("same", "0\n1\n"));
    assert_true(hu_format_equal(&first, &again));
    snprintf(name, sizeof name, "%s", text_of("same", "0\n2\n"));
    again = parsed(name);
    assert_false(hu_format_equal(&first, &again));
    again.table = 1u << 30;
    assert_int_equal(hu_format_check(&again), HU_ERR_FORMAT);
    again = first, again.man_bits = 1;
    assert_int_equal(hu_format_check(&again), HU_ERR_FORMAT);
    again = first, again.overflow = HU_OVERFLOW_NONE + 1;
    assert_int_equal(hu_format_check(&again), HU_ERR_FORMAT);
}

/* A folder's copy counts, though the file has changed and then gone. */
static void a_folder_keeps_its_own_copies(void **state) {
    char name[120], copies[120];
    (void)state;
    snprintf(name, sizeof name, "%s", text_of("kept", "0\n3\n"));
    hu_format before = parsed(name);
    snprintf(copies, sizeof copies, "%s/run", folder);
    assert_int_equal(mkdir(copies, 0700), 0);
    assert_int_equal(hu_code_tables_keep(copies), HU_OK);
    hu_format changed = parsed(text_of("kept", "0\n5\n"));
    assert_false(hu_format_equal(&before, &changed));
    assert_int_equal(unlink(name + strlen("table:")), 0);
    assert_int_equal(hu_code_tables_recall(folder), HU_OK); /* has none */
    refused(name, HU_ERR_MISSING, "kept");
    assert_int_equal(hu_code_tables_recall(copies), HU_OK);
    hu_format after = parsed(name);
    assert_true(hu_format_equal(&before, &after));
}

static void shapes_are_told(void **state) {
    (void)state;
    hu_format posit = parsed("posit8"), hif8 = parsed("hif8"), e4m3 = parsed("e4m3");
    assert_float_equal(hu_format_epsilon(&posit), 0.125, 0);
    assert_float_equal(hu_format_step(&posit, 0), 0.125, 0);
    assert_float_equal(hu_format_step(&posit, 4), 4, 0);
    assert_int_equal(hu_format_precision(&hif8), 3);
    assert_int_equal(hu_format_precision(&e4m3), 3);
    assert_float_equal(hu_format_step(&e4m3, -20), 0x1p-9, 0);
    assert_int_equal(hu_format_numbers(&hif8), 253);
    assert_int_equal(hu_format_numbers(&e4m3), 239);
    assert_int_equal(hu_format_least_exponent(&hif8), -23);
    assert_true(hu_format_least_exponent(&posit) < -200);
    assert_true(hu_format_has_nan(&posit) && !hu_format_has_infinity(&posit));
    assert_true(hu_format_has_infinity(&hif8));
}

static int make_folder(void **state) {
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
    char command[100];
    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(names_are_read_and_printed),
                                       cmocka_unit_test(names_outside_are_refused),
                                       cmocka_unit_test(bad_files_are_told_by_line),
                                       cmocka_unit_test(files_are_read),
                                       cmocka_unit_test(a_float_as_a_table_is_the_float),
                                       cmocka_unit_test(the_register_knows_equal_tables),
                                       cmocka_unit_test(a_folder_keeps_its_own_copies),
                                       cmocka_unit_test(shapes_are_told)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
