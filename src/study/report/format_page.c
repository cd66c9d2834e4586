#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "format/value.h"
#include "render/chart.h"
#include "render/html.h"
#include "render/table.h"
#include "report/formats.h"
#include "report/internal.h"
#include "tensor/exponent_histogram.h"

/* ---- format page ---- */

/* Pictures of number formats: their numbers, their errors, their bits, what they lose of a tensor.
 */

enum { TICKS_MOST = 300, LABEL_BYTES = 320, PER_BINADE = 4 };

/* What all pictures of a call share. */
typedef struct drawing {
    const hu_named_format *named;
    int count;
    char label[HU_FORMATS_MOST][LABEL_BYTES];
    int low, high; /* binades that some format tells apart, and two more on both sides */
} drawing;

/* ---- errors ---- */

/* Distance between neighbours around x; of numbers between zero and the smallest one, that. */
static double spacing_at(const hu_format *format, double x) {
    const hu_format_limits limits = hu_format_limits_of(format);
    int exponent = ilogb(x);
    bool is_coarse = format->underflow == HU_UNDERFLOW_NEAREST && exponent < limits.emin;
    return is_coarse ? limits.min_normal : hu_format_step(format, exponent);
}

double hu_format_error_at(const hu_format *format, double x) {
    const hu_format_limits limits = hu_format_limits_of(format);
    if (x < limits.underflow_threshold) return 1.0;
    if (x >= limits.overflow_threshold)
        return format->overflow == HU_OVERFLOW_SAT ? (x - limits.max_finite) / x : 1.0;
    return fmin(1.0, 0.5 * spacing_at(format, x) / x);
}

/* ---- the number line ---- */

/* The next larger number, or 0 where there is none. */
static double next_number(const hu_format *format, double x) {
    const hu_format_limits limits = hu_format_limits_of(format);
    if (x < limits.min_subnormal) return limits.min_subnormal;
    if (x >= limits.max_finite) return 0.0;
    float next = hu_format_round(format, HU_ROUND_UP, nextafterf((float)x, INFINITY), 0);
    return (double)next;
}

/* A row of the numbers between two magnitudes; a band if they are too many to tell apart. */
static hu_number_row make_row(const drawing *d, int i, double low, double high, bool is_log,
                              double *number) {
    const hu_format *format = &d->named[i].format;
    const hu_format_limits limits = hu_format_limits_of(format);
    hu_number_row row = {.label = d->label[i],
                         .series = i,
                         .number = number,
                         .normal = is_log ? log2(limits.min_normal) : limits.min_normal};
    double x = low > 0.0 ? next_number(format, low * (1.0 - 1e-6)) : limits.min_subnormal;
    for (; x > 0.0 && x <= high && row.count < TICKS_MOST; x = next_number(format, x))
        number[row.count++] = is_log ? log2(x) : x;
    row.is_dense = row.count == TICKS_MOST;
    if (row.is_dense) number[row.count - 1] = is_log ? log2(limits.max_finite) : limits.max_finite;
    return row;
}

static hu_status draw_line(hu_page *page, const drawing *d, double low, double high, bool is_log,
                           const char *title) {
    hu_number_row row[HU_FORMATS_MOST];
    double *number;
    hu_status st = HU_NEW_ARRAY(&number, (size_t)d->count * TICKS_MOST);
    if (st != HU_OK) return st;
    for (int i = 0; i < d->count; i++)
        row[i] = make_row(d, i, low, high, is_log, number + (size_t)i * TICKS_MOST);
    hu_chart_numbers(page, row, (size_t)d->count, is_log ? log2(low) : low,
                     is_log ? log2(high) : high, is_log, title);
    hu_free(number);
    return HU_OK;
}

/* All magnitudes, those around 1, and those around zero of the format that reaches it last. */
static hu_status draw_numbers(hu_page *page, const drawing *d) {
    double normal = 0.0;
    hu_status st;
    for (int i = 0; i < d->count; i++)
        normal = fmax(normal, hu_format_limits_of(&d->named[i].format).min_normal);
    hu_html_panel(page, "The numbers");
    hu_html_paragraph(page, "Every positive number is a tick, a shorter one if it is subnormal; "
                            "where there are too many to tell apart, they are a band.");
    HU_TRY(draw_line(page, d, ldexp(1.0, d->low), ldexp(1.0, d->high), true,
                     "all magnitudes, in powers of two"));
    HU_TRY(draw_line(page, d, 0.5, 4.0, false, "around 1"));
    HU_TRY(draw_line(page, d, 0.0, 4.0 * normal, false, "near zero"));
    hu_html_panel_end(page);
done:
    return st;
}

/* ---- errors and bits over magnitudes ---- */

/* Two points at each place: what holds in front of it, and after. */
static size_t add_place(const hu_format *format, double place, double *x, double *y) {
    const double beside = 1e-9;
    x[0] = x[1] = place;
    y[0] = log10(hu_format_error_at(format, exp2(place - beside)));
    y[1] = log10(hu_format_error_at(format, exp2(place + beside)));
    return 2;
}

/* Straight lines on these scales but where a format saturates, hence the places in between. */
static size_t trace_error(const drawing *d, const hu_format *format, double *x, double *y) {
    const hu_format_limits limits = hu_format_limits_of(format);
    double lost = limits.underflow_threshold > 0 ? limits.underflow_threshold : 0x1p-1000;
    const double cliff[] = {log2(lost), log2(limits.overflow_threshold)};
    size_t n = 0;
    double before = d->low;
    for (int k = d->low * PER_BINADE; k <= d->high * PER_BINADE; k++) {
        double place = (double)k / PER_BINADE;
        for (int c = 0; c < 2; c++)
            if (cliff[c] > before && cliff[c] < place)
                n += add_place(format, cliff[c], x + n, y + n);
        if (k % PER_BINADE == 0 || place > cliff[1]) n += add_place(format, place, x + n, y + n);
        before = place;
    }
    return n;
}

/* Significant bits of the numbers of each binade, as steps. */
static size_t trace_bits(const drawing *d, const hu_format *format, double *x, double *y) {
    const hu_format_limits limits = hu_format_limits_of(format);
    size_t n = 0;
    for (int e = d->low; e < d->high; e++) {
        double bits = -log2(hu_format_error_at(format, ldexp(1.0, e)));
        if (ldexp(1.0, e) > limits.max_finite) bits = 0.0;
        for (int end = 0; end < 2; end++) {
            x[n] = e + end;
            y[n++] = fmax(bits, 0.0);
        }
    }
    return n;
}

typedef size_t trace_fn(const drawing *d, const hu_format *format, double *x, double *y);

static hu_status draw_lines(hu_page *page, const drawing *d, trace_fn *trace,
                            const hu_binade_axis *axis) {
    hu_chart_line line[HU_FORMATS_MOST];
    hu_legend_item item[HU_FORMATS_MOST];
    size_t most = 2 * ((size_t)(d->high - d->low) * PER_BINADE + 4);
    double *numbers;
    hu_status st = HU_NEW_ARRAY(&numbers, 2 * most * (size_t)d->count);
    if (st != HU_OK) return st;
    for (int i = 0; i < d->count; i++) {
        double *x = numbers + 2 * most * (size_t)i, *y = x + most;
        size_t n = trace(d, &d->named[i].format, x, y);
        line[i] = (hu_chart_line){.label = d->label[i], .series = i, .x = x, .y = y, .count = n};
        item[i] = (hu_legend_item){d->label[i], i};
    }
    hu_legend_draw(page, item, (size_t)d->count, HU_LEGEND_LINES);
    hu_chart_binades(page, line, (size_t)d->count, axis);
    hu_free(numbers);
    return HU_OK;
}

static hu_status draw_errors(hu_page *page, const drawing *d) {
    int mantissa = 0;
    hu_status st;
    for (int i = 0; i < d->count; i++)
        if (hu_format_precision(&d->named[i].format) > mantissa)
            mantissa = hu_format_precision(&d->named[i].format);
    hu_binade_axis error = {"largest relative error", true, 0.0, 0.0};
    error.low = floor(log10(ldexp(1.0, -mantissa - 2)));
    hu_html_panel(page, "Error against magnitude");
    hu_html_paragraph(page, "Half the distance between neighbours, over the number: the most that "
                            "rounding to nearest can be off. On the left numbers vanish, on the "
                            "right they overflow (all is lost) or saturate.");
    HU_TRY(draw_lines(page, d, trace_error, &error));
    hu_binade_axis bits = {"significant bits", false, 0.0, mantissa + 2.0};
    hu_html_heading(page, "Bits of precision in every binade");
    HU_TRY(draw_lines(page, d, trace_bits, &bits));
    hu_html_panel_end(page);
done:
    return st;
}

/* ---- a tensor ---- */

static double share_of(uint64_t count, const hu_exponents *exponents) {
    return exponents->elements > 0 ? (double)count / (double)exponents->elements : 0.0;
}

static hu_chart_ridge make_ridge(const drawing *d, int i, const hu_exponents *exponents) {
    const hu_format *format = &d->named[i].format;
    hu_lost lost = hu_exponents_lost(exponents, format, 0);
    hu_chart_ridge ridge = {.name = d->label[i],
                            .first = exponents->first,
                            .bin = exponents->bin,
                            .count = exponents->count,
                            .has_range = true,
                            .range = hu_report_range(d->label[i], format),
                            .lost =
                                hu_exponents_overflowed(exponents, &lost) + lost.underflow.share};
    ridge.nonfinite = share_of(exponents->nonfinite, exponents);
    ridge.zero = share_of(exponents->zero, exponents);
    return ridge;
}

/* Shares in per cent of all numbers, and the error of all of them together. */
static void put_losses(hu_page *page, const drawing *d, const hu_exponents *exponents) {
    static const char *const titles[] = {"format", "to zero %", "overflow %", "subnormal %",
                                         "error of the whole %"};
    char text[64];
    if (page->is_picture) return;
    hu_html_table(page, titles, sizeof titles / sizeof *titles, 1);
    for (int i = 0; i < d->count; i++) {
        const hu_quantizer rounded = {.kind = HU_QUANTIZER_FLOAT, .format = d->named[i].format};
        hu_lost lost = hu_exponents_lost(exponents, &rounded.format, 0);
        const double share[] = {lost.underflow.share, hu_exponents_overflowed(exponents, &lost),
                                lost.subnormal.share,
                                sqrt(hu_rounding_error(exponents, &rounded, 0))};
        hu_html_row(page, false);
        hu_html_text(page, d->label[i]);
        for (size_t k = 0; k < sizeof share / sizeof *share; k++) {
            snprintf(text, sizeof text, "%.3g", 100.0 * share[k]);
            hu_html_number(page, text);
        }
        hu_html_row_end(page);
    }
    hu_html_table_end(page);
}

static void draw_sample(hu_page *page, const drawing *d, const hu_formats_sample *sample) {
    char heading[800];
    hu_chart_ridge ridge[HU_FORMATS_MOST];
    const hu_ridge_heads heads = {.own = "lost %"};
    for (int i = 0; i < d->count; i++) ridge[i] = make_ridge(d, i, sample->exponents);
    snprintf(heading, sizeof heading, "What they lose of %s", sample->name);
    hu_html_heading(page, heading);
    hu_html_paragraph(page, "The exponents of its numbers over the range of each format; red is "
                            "lost to zero or to overflow. The error of the whole is the root of "
                            "the errors' squares over that of the numbers', by the histogram.");
    hu_chart_ridges(page, ridge, (size_t)d->count, &heads, 0, sample->name);
    put_losses(page, d, sample->exponents);
}

/* ---- the file ---- */

static drawing make_drawing(const hu_named_format *named, int count) {
    drawing d = {.named = named, .count = count, .low = 0, .high = 1};
    for (int i = 0; i < count; i++) {
        const hu_format_limits limits = hu_format_limits_of(&named[i].format);
        /* Where nothing vanishes, what is below the smallest number. */
        double lost =
            limits.underflow_threshold > 0 ? limits.underflow_threshold : limits.min_subnormal / 2;
        int low = ilogb(lost) - 2, high = limits.emax + 3;
        hu_named_format_words(&named[i], d.label[i], LABEL_BYTES);
        if (low < d.low) d.low = low;
        if (high > d.high) d.high = high;
    }
    return d;
}

static hu_status draw_all(hu_page *page, const drawing *d, const hu_formats_sample *sample) {
    hu_status st;
    hu_html_panels(page);
    HU_TRY(draw_numbers(page, d));
    HU_TRY(draw_errors(page, d));
    hu_html_panels_end(page);
    if (sample) draw_sample(page, d, sample);
done:
    return st;
}

static void make_title(const drawing *d, char *text, size_t capacity) {
    text[0] = '\0';
    for (int i = 0; i < d->count; i++) hu_note_add(text, capacity, ", ", "%s", d->named[i].typed);
}

static hu_status make_html(const drawing *d, const hu_formats_sample *sample, const char *title,
                           const char *path) {
    hu_page page = {0};
    char *text = NULL;
    hu_status st;
    hu_html_begin(&page, title, "Number formats");
    HU_TRY(draw_all(&page, d, sample));
    hu_html_end(&page, "Made by halfulp " HALFULP_VERSION ".");
    HU_TRY(hu_page_finish(&page, &text));
    HU_TRY(hu_file_replace(path, text, strlen(text)));
done:
    hu_page_free(&page);
    hu_free(text);
    return st;
}

static hu_status make_figure(const drawing *d, const hu_formats_sample *sample, const char *title,
                             hu_figure_form form, const char *path) {
    hu_page page = {0};
    hu_figures figures = {0};
    hu_status st;
    hu_picture_begin(&page);
    HU_TRY(draw_all(&page, d, sample));
    HU_TRY(hu_figures_add(&figures, &page, title));
    HU_TRY(hu_figures_write(&figures, form, path));
done:
    hu_page_free(&page);
    hu_figures_free(&figures);
    return st;
}

hu_status hu_formats_page(const hu_named_format *named, int count, const hu_formats_sample *sample,
                          const char *path) {
    enum { HTML, HTM, SVG, PDF, PNG };
    static const char *const endings[] = {"html", "htm", "svg", "pdf", "png", NULL};
    char title[512];
    int ending;
    const drawing d = make_drawing(named, count);
    hu_status st = hu_ending_find(path, endings, &ending);
    if (st != HU_OK) return st;
    make_title(&d, title, sizeof title);
    if (ending < SVG) return make_html(&d, sample, title, path);
    return make_figure(&d, sample, title,
                       ending == SVG   ? HU_FIGURE_SVG
                       : ending == PDF ? HU_FIGURE_PDF
                                       : HU_FIGURE_PNG,
                       path);
}

/* ---- Every code of a narrow format, with its bits, class and value ---- */

enum { BITS_BYTES = HU_CODE_BITS_MOST + 3, VALUE_BYTES = 32, POWER_BYTES = 48 };

/* One line of the table. */
typedef struct code_row {
    uint32_t code;
    char bits[BITS_BYTES]; /* "1 0110 101": sign, exponent, mantissa */
    const char *class_name;
    float value;
} code_row;

/* "zero", "subnormal", "normal", "inf" or "NaN"; code below the format's codes. */
static const char *code_class(const hu_format *format, uint32_t code) {
    float value;
    if (hu_format_decode(format, code, &value) != HU_OK || isnan(value)) return "NaN";
    if (isinf(value)) return "inf";
    if (value == 0.0f) return "zero";
    return fabs((double)value) < hu_format_limits_of(format).min_normal ? "subnormal" : "normal";
}

static code_row row_of(const hu_format *format, uint32_t code) {
    code_row row = {.code = code, .class_name = code_class(format, code)};
    int bits = (int)hu_format_bits(format);
    char *at = row.bits;
    for (int i = bits - 1; i >= 0; i--) {
        *at++ = (char)('0' + (code >> i & 1));
        if (!hu_format_summary(format) && (i == bits - 1 || (i == format->man_bits && i > 0)))
            *at++ = ' ';
    }
    /* Every code has a value (halfulp/format.h). */
    if (hu_format_decode(format, code, &row.value) != HU_OK) row.value = NAN;
    return row;
}

/* Nine digits give every float32 back, seventeen every double. */
static const char *value_text(float value, int digits, char text[VALUE_BYTES]) {
    if (isnan(value))
        snprintf(text, VALUE_BYTES, "NaN");
    else
        snprintf(text, VALUE_BYTES, "%.*g", digits, (double)value);
    return text;
}

/* "1.75 x 2^-3"; "" of what is no number or zero. */
static const char *power_text(float value, char text[POWER_BYTES]) {
    int exponent;
    double fraction = 2 * frexp((double)value, &exponent);
    text[0] = '\0';
    if (isfinite(value) && value != 0.0f)
        snprintf(text, POWER_BYTES, "%.9g x 2^%d", fraction, exponent - 1);
    return text;
}

static int code_digits(const hu_format *format) {
    return (int)(hu_format_bits(format) + 3) / 4;
}

static hu_status check(const hu_named_format *named, int count) {
    for (int i = 0; i < count; i++)
        if (hu_format_bits(&named[i].format) > HU_CODE_BITS_MOST)
            return hu_fail(HU_ERR_ARGUMENT,
                           "found %s with %u bits, expected at most %d for a table of all codes "
                           "(--decode gives the numbers of single ones)",
                           named[i].typed, hu_format_bits(&named[i].format), HU_CODE_BITS_MOST);
    return HU_OK;
}

static hu_status show(const hu_named_format *named) {
    static const char *const titles[] = {"code", "bits", "class", "value", "exactly"};
    const hu_format *format = &named->format;
    char words[3 * HU_FORMAT_NAME_BYTES], value[VALUE_BYTES], power[POWER_BYTES];
    hu_table *table;
    hu_status st = hu_table_create(titles, 5, &table);
    if (st != HU_OK) return st;
    for (uint32_t code = 0; code < 1u << hu_format_bits(format); code++) {
        code_row row = row_of(format, code);
        HU_TRY(hu_table_cell(table, "0x%0*x", code_digits(format), code));
        HU_TRY(hu_table_cell(table, "%s", row.bits));
        HU_TRY(hu_table_cell(table, "%s", row.class_name));
        HU_TRY(hu_table_cell(table, "%s", value_text(row.value, 9, value)));
        HU_TRY(hu_table_cell(table, "%s", power_text(row.value, power)));
    }
    hu_named_format_words(named, words, sizeof words);
    printf("%s%s\n\n", words, named->is_element ? ", in units of the block's scale" : "");
    st = hu_show_table(table);
done:
    hu_table_free(table);
    return st;
}

hu_status hu_codes_show(const hu_named_format *named, int count) {
    hu_status st = check(named, count);
    for (int i = 0; i < count && st == HU_OK; i++) {
        if (i > 0) printf("\n");
        st = show(&named[i]);
    }
    return st;
}

/* A comma in a name, as in fp(4,3,4), wants quotes (RFC 4180). */
hu_status hu_codes_csv(const hu_named_format *named, int count) {
    char value[VALUE_BYTES];
    hu_status st = check(named, count);
    if (st != HU_OK) return st;
    printf("format,code,bits,class,value\n");
    for (int i = 0; i < count; i++)
        for (uint32_t code = 0; code < 1u << hu_format_bits(&named[i].format); code++) {
            code_row row = row_of(&named[i].format, code);
            printf("\"%s\",0x%0*x,%s,%s,%s\n", named[i].name, code_digits(&named[i].format), code,
                   row.bits, row.class_name, value_text(row.value, 17, value));
        }
    return HU_OK;
}

static json_t *json_of(const hu_named_format *named) {
    json_t *codes = json_array(), *object = hu_format_json(named);
    for (uint32_t code = 0; code < 1u << hu_format_bits(&named->format); code++) {
        code_row row = row_of(&named->format, code);
        json_array_append_new(codes, json_pack("{s:i, s:s, s:s, s:o}", "code", (int)code, "bits",
                                               row.bits, "class", row.class_name, "value",
                                               hu_json_number((double)row.value)));
    }
    if (object && json_object_set_new(object, "table", codes) == 0) return object;
    json_decref(object);
    return NULL;
}

hu_status hu_codes_json(const hu_named_format *named, int count) {
    hu_status st = check(named, count);
    if (st != HU_OK) return st;
    if (count == 1) return hu_json_print(json_of(named));
    json_t *all = json_array();
    for (int i = 0; i < count; i++) json_array_append_new(all, json_of(&named[i]));
    return hu_json_print(json_pack("{s:o}", "formats", all));
}
