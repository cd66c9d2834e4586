#include <string.h>

#include "help/internal.h"
#include "help/manual.h"

/* ---- Man pages (man(7)): of the program with all keys, and of each verb ---- */

/* Text for roff: backslashes and hyphens as they are, no line begins with a request. */
static void put_roff(hu_page *page, const char *text) {
    bool begins = true;
    for (; *text; text++) {
        if (begins && (*text == '.' || *text == '\'')) hu_page_put(page, "\\&");
        if (*text == '\\' || *text == '-')
            hu_page_put(page, *text == '-' ? "\\-" : "\\e");
        else
            hu_page_put(page, "%c", *text);
        begins = *text == '\n';
    }
}

/* A paragraph whose head is bold. */
static void put_entry(hu_page *page, const char *head, const char *text) {
    hu_page_put(page, ".TP\n\\fB");
    put_roff(page, head);
    hu_page_put(page, "\\fR\n");
    put_roff(page, text);
    hu_page_put(page, "\n");
}

/* Title, name with what it is, and how it is called. */
static void put_head(hu_page *page, const char *name, const char *help, const char *usage) {
    hu_page_put(page, ".TH \"%s\" 1 \"\" \"halfulp " HALFULP_VERSION "\"\n.SH NAME\n", name);
    put_roff(page, name);
    hu_page_put(page, " \\- ");
    put_roff(page, help);
    hu_page_put(page, "\n.SH SYNOPSIS\n");
    put_roff(page, usage);
    hu_page_put(page, "\n");
}

/* One key: names, values in words, default. */
static void put_key(hu_page *page, const hu_config_key *key) {
    hu_page_put(page, ".TP\n\\fB%s\\fR", key->name);
    if (*key->short_form) hu_page_put(page, ", \\fB%s\\fR", key->short_form);
    hu_page_put(page, "\n");
    put_roff(page, key->help);
    if (*key->words) {
        hu_page_put(page, ": ");
        put_roff(page, key->words);
    }
    hu_page_put(page, " (");
    put_roff(page, *key->preset ? key->preset : "none");
    hu_page_put(page, ")\n");
}

/* Keys by group; of a verb, only those that it takes. */
static void put_keys(hu_page *page, const hu_verb *verb) {
    hu_page_put(page, ".SH KEYS\nAs key=value, or in a YAML file that config=FILE names; in "
                      "parentheses the default.\n");
    for (size_t g = 0; hu_key_group_at(g); g++) {
        bool has_any = false;
        for (size_t i = 0; i < hu_config_key_count; i++) {
            const hu_config_key *key = &hu_config_keys[i];
            if (!hu_key_is_of(key, hu_key_group_at(g))) continue;
            if (verb && !hu_verb_takes(verb, key->name)) continue;
            if (!has_any) {
                hu_page_put(page, ".SS ");
                put_roff(page, hu_key_group_at(g)->title);
                hu_page_put(page, "\n");
            }
            has_any = true;
            put_key(page, key);
        }
    }
}

/* Each example with what it does. */
static void put_examples(hu_page *page, const hu_verb *verb) {
    for (int i = 0; i < HU_VERB_EXAMPLES && verb->examples[i].words; i++) {
        hu_page_put(page, ".TP\nhalfulp ");
        put_roff(page, verb->examples[i].words);
        hu_page_put(page, "\n");
        put_roff(page, verb->examples[i].what);
        hu_page_put(page, "\n");
    }
}

/* Text in lines as it stands, as the details of a verb. */
static void put_lines(hu_page *page, const char *text) {
    hu_page_put(page, ".nf\n");
    put_roff(page, text);
    hu_page_put(page, ".fi\n");
}

/* DESCRIPTION are the details, as they stand in the help. */
static void put_verb_page(hu_page *page, const hu_verb *verb) {
    char name[64] = "halfulp-", usage[512] = "halfulp ";
    strncat(name, verb->name, sizeof name - strlen(name) - 1);
    strncat(usage, verb->name, sizeof usage - strlen(usage) - 1);
    strncat(usage, " ", sizeof usage - strlen(usage) - 1);
    strncat(usage, verb->usage, sizeof usage - strlen(usage) - 1);
    put_head(page, name, verb->help, usage);
    if (*verb->details) {
        hu_page_put(page, ".SH DESCRIPTION\n");
        put_lines(page, verb->details);
    }
    if (verb->examples[0].words) hu_page_put(page, ".SH EXAMPLES\n");
    put_examples(page, verb);
    if (verb->keys && verb->keys[0]) put_keys(page, verb);
    hu_page_put(page, ".SH SEE ALSO\n.BR halfulp (1)\n");
}

/* The whole program: verbs, topics, examples, every key. */
static void put_program_page(hu_page *page, const hu_verb *const *verbs) {
    put_head(page, "halfulp", "trains neural networks in number formats that no hardware has yet",
             "halfulp VERB [key=value ...] [--json]");
    hu_page_put(page, ".SH VERBS\n");
    for (size_t i = 0; verbs[i]; i++) put_entry(page, verbs[i]->name, verbs[i]->help);
    hu_page_put(page, ".SH TOPICS\nhalfulp help TOPIC tells of\n");
    for (size_t i = 0; hu_topic_at(i); i++)
        put_entry(page, hu_topic_at(i)->name, hu_topic_at(i)->help);
    hu_page_put(page, ".SH EXAMPLES\n");
    for (size_t i = 0; verbs[i]; i++) put_examples(page, verbs[i]);
    put_keys(page, NULL);
    hu_page_put(page, ".SH EXIT STATUS\n0 ok, 1 failed check, 2 usage, 3 data, 4 numerics, "
                      "5 resources, 6 peer lost, 130 interrupted\n.SH SEE ALSO\n");
    for (size_t i = 0; verbs[i]; i++)
        hu_page_put(page, ".BR halfulp\\-%s (1)%s\n", verbs[i]->name, verbs[i + 1] ? "," : "");
}

hu_status hu_manual_page(const hu_verb *const *verbs, const hu_verb *verb, char **text) {
    hu_page page = {.status = HU_OK};
    if (verb)
        put_verb_page(&page, verb);
    else
        put_program_page(&page, verbs);
    return hu_page_finish(&page, text);
}
