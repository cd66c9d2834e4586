#include "comm/link.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static const char prefixes[] = "KMGT";
static const double factors[] = {1e3, 1e6, 1e9, 1e12};

/* A number that is not negative, and what stands behind it; false where there is none. */
static bool read_number(const char *text, double *value, const char **unit) {
    char *end;
    *value = strtod(text, &end);
    *unit = end + strspn(end, " ");
    return end != text && isfinite(*value) && *value >= 0.0;
}

static bool is_one_of(const char *word, const char *const *words) {
    while (*words && strcmp(word, *words) != 0) words++;
    return *words != NULL;
}

/* Links are sold in bits, files are counted in bytes: a mistake of 8 times is told apart. */
static bool counts_bytes(const char *unit) {
    return *unit == 'B' || strncmp(unit, "byte", strlen("byte")) == 0;
}

static hu_status parse_rate(const char *text, double *rate) {
    static const char *const bits[] = {"", "bit", "bit/s", "bps", NULL};
    const char *unit;
    bool is_number = read_number(text, rate, &unit);
    const char *prefix =
        is_number && *unit ? strchr(prefixes, toupper((unsigned char)*unit)) : NULL;
    if (prefix) {
        *rate *= factors[prefix - prefixes];
        unit++;
    }
    if (is_number && counts_bytes(unit))
        return hu_fail(HU_ERR_PARSE,
                       "link: found '%s', a number of bytes; expected bits a second: 10G, 100M",
                       text);
    if (!is_number || !is_one_of(unit, bits))
        return hu_fail(HU_ERR_PARSE, "link: found '%s', expected bits a second: 10G, 100M", text);
    if (*rate < 1.0 || isinf(*rate))
        return hu_fail(HU_ERR_PARSE, "link: found '%s', expected 1 bit a second or more", text);
    return HU_OK;
}

static hu_status parse_latency(const char *text, double *seconds) {
    static const struct {
        const char *name;
        double seconds;
    } units[] = {{"s", 1.0}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}};
    const char *unit;
    bool is_number = read_number(text, seconds, &unit);
    for (size_t i = 0; is_number && i < sizeof units / sizeof *units; i++)
        if (strcmp(unit, units[i].name) == 0) {
            *seconds *= units[i].seconds;
            return HU_OK;
        }
    return hu_fail(HU_ERR_PARSE, "latency: found '%s', expected seconds: 10us, 1.5ms", text);
}

hu_status hu_comm_link_parse(const char *rate, const char *latency, hu_comm_link *link) {
    *link = (hu_comm_link){0};
    hu_status st = parse_rate(rate, &link->bits_per_second);
    return st == HU_OK ? parse_latency(latency, &link->latency_seconds) : st;
}

void hu_comm_link_print(const hu_comm_link *link, char *text) {
    double rate = link->bits_per_second;
    const char *prefix = " KMGT";
    for (; rate >= 1000.0 && prefix[1]; prefix++) rate /= 1000.0;
    snprintf(text, HU_COMM_LINK_BYTES, "%g %.*sbit/s and %g us a link", rate, *prefix != ' ',
             prefix, link->latency_seconds * 1e6);
}
