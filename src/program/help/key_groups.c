#include "help/key_groups.h"

#include <stdio.h>
#include <string.h>

enum { COLUMNS = 79 };

/* In the order of keys.list, but for what only some verbs read, which comes last. */
static const hu_key_group groups[] = {
    {"model", "the network"},
    {"init", "which weights of a file it begins with"},
    {"task", "what it learns"},
    {"data", "what it is trained on"},
    {"precision", "which tensors are rounded, and to what"},
    {"bits", "schedules of bits: precision=static, cpt, pfq, ldp, random, staged"},
    {"cost", "what a multiply-accumulate costs"},
    {"accumulator", "how matrix products add their terms"},
    {"optimizer", "how gradients become updates"},
    {"lr", "the learning rate over time"},
    {"scaler", "loss scaling"},
    {"eval", "evaluation"},
    {"stop", "when a training ends early"},
    {"run", "length, seed, threads, and what a run leaves in its folder"},
    {"comm", "several workers, and how their gradients meet"},
    {"cluster", "the network between machines, for predictions"},
    {"out", "files that verbs write"},
    {"predict", "what a trained model is asked"},
    {"why", "what becomes of numbers in a run"},
    {"fmt", "formats beside each other"},
    {"bench", "what is measured"},
    {"gemm", "products of random factors"},
    {"compare", "several trainings beside each other"},
    {"assign", "the search for a precision of each tensor"},
};

/* In the order in which a first training is thought of. */
static const char *const common[] = {
    "model.name",  "data.name",        "precision.name", "run.epochs",     "run.steps",
    "run.batch",   "lr.base",          "lr.schedule",    "optimizer.name", "optimizer.weight_decay",
    "scaler.name", "accumulator.name", "data.limit",     "run.seed",       "run.threads",
    "run.dir",     "compare.seeds",    "out.file"};

const hu_key_group *hu_key_group_at(size_t index) {
    return index < sizeof groups / sizeof *groups ? &groups[index] : NULL;
}

bool hu_key_is_of(const hu_config_key *key, const hu_key_group *group) {
    size_t length = strlen(group->name);
    return strncmp(key->name, group->name, length) == 0 && key->name[length] == '.';
}

const hu_config_key *hu_common_key_at(size_t index) {
    return index < sizeof common / sizeof *common ? hu_config_key_find(common[index]) : NULL;
}

bool hu_key_is_common(const hu_config_key *key) {
    for (size_t i = 0; i < sizeof common / sizeof *common; i++)
        if (hu_common_key_at(i) == key) return true;
    return false;
}

const char *hu_key_typed_name(const hu_config_key *key) {
    return *key->short_form ? key->short_form : key->name;
}

const char *hu_key_brief(const char *help, char *text) {
    enum { MOST = 48 };
    size_t end = 0, length = strlen(help);
    for (size_t i = 0; i < length && i < MOST; i++)
        if (help[i] == ';' || (help[i] == ' ' && help[i + 1] == '(')) {
            end = i;
            break;
        }
    if (end == 0 && length <= MOST) end = length;
    if (end > 0) {
        snprintf(text, HU_BRIEF_BYTES, "%.*s", (int)end, help);
        return text;
    }
    for (end = MOST; end > 0 && help[end] != ' ';) end--;
    while (end > 0 && strchr(" ,:", help[end - 1])) end--;
    snprintf(text, HU_BRIEF_BYTES, "%.*s ...", (int)end, help);
    return text;
}

void hu_put_wrapped(hu_page *page, const char *text, int at, int indent) {
    bool is_first = true;
    while (*(text += strspn(text, " "))) {
        int length = (int)strcspn(text, " ");
        if (!is_first && at + 1 + length > COLUMNS) {
            hu_page_put(page, "\n%*s", indent, "");
            at = indent;
            is_first = true;
        }
        hu_page_put(page, "%s%.*s", is_first ? "" : " ", length, text);
        at += length + !is_first;
        is_first = false;
        text += length;
    }
    hu_page_put(page, "\n");
}
