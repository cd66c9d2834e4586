#include "train/weight_names.h"

#include <stdio.h>
#include <string.h>

/* In a name, whole words between dots are replaced: the first rule of each pass that finds its own
 * takes part. '^': at the beginning of the name alone. */
typedef struct renaming {
    int pass;
    const char *from, *to;
} renaming;

/* Source of all: the modules of torchvision/models/NAME.py, version 0.29. */
static const renaming resnet[] = {{1, "shortcut.conv", "downsample.0"},
                                  {1, "shortcut.bn", "downsample.1"},
                                  {1, "sc.0", "downsample.0"},
                                  {1, "sc.1", "downsample.1"},
                                  {0, NULL, NULL}};

/* For the trunk of fcn-r50. */
static const renaming own_resnet[] = {
    {1, "sc.0", "shortcut.conv"}, {1, "sc.1", "shortcut.bn"}, {0, NULL, NULL}};

static const renaming alexnet[] = {
    {1, "^conv1", "features.0"}, {1, "^conv2", "features.3"},  {1, "^conv3", "features.6"},
    {1, "^conv4", "features.8"}, {1, "^conv5", "features.10"}, {1, "^fc6", "classifier.1"},
    {1, "^fc7", "classifier.4"}, {1, "^fc8", "classifier.6"},  {0, NULL, NULL}};

static const renaming vgg16[] = {{1, "^conv1_1", "features.0"},
                                 {1, "^conv1_2", "features.2"},
                                 {1, "^conv2_1", "features.5"},
                                 {1, "^conv2_2", "features.7"},
                                 {1, "^conv3_1", "features.10"},
                                 {1, "^conv3_2", "features.12"},
                                 {1, "^conv3_3", "features.14"},
                                 {1, "^conv4_1", "features.17"},
                                 {1, "^conv4_2", "features.19"},
                                 {1, "^conv4_3", "features.21"},
                                 {1, "^conv5_1", "features.24"},
                                 {1, "^conv5_2", "features.26"},
                                 {1, "^conv5_3", "features.28"},
                                 {1, "^fc6", "classifier.0"},
                                 {1, "^fc7", "classifier.3"},
                                 {1, "^fc8", "classifier.6"},
                                 {0, NULL, NULL}};

static const renaming shufflenet[] = {
    {1, "^conv1", "conv1.0"},        {1, "^bn1", "conv1.1"},
    {1, "^conv2", "conv5.0"},        {1, "^bn2", "conv5.1"},
    {1, "left.conv1", "branch1.0"},  {1, "left.bn1", "branch1.1"},
    {1, "left.conv2", "branch1.2"},  {1, "left.bn2", "branch1.3"},
    {1, "right.conv1", "branch2.0"}, {1, "right.bn1", "branch2.1"},
    {1, "right.conv2", "branch2.3"}, {1, "right.bn2", "branch2.4"},
    {1, "right.conv3", "branch2.5"}, {1, "right.bn3", "branch2.6"},
    {1, "conv1", "branch2.0"},       {1, "bn1", "branch2.1"},
    {1, "conv2", "branch2.3"},       {1, "bn2", "branch2.4"},
    {1, "conv3", "branch2.5"},       {1, "bn3", "branch2.6"},
    {2, "^layer1", "stage2"},        {2, "^layer2", "stage3"},
    {2, "^layer3", "stage4"},        {0, NULL, NULL}};

static const renaming googlenet[] = {{1, "^inc.0", "inception3a"},
                                     {1, "^inc.1", "inception3b"},
                                     {1, "^inc.2", "inception4a"},
                                     {1, "^inc.3", "inception4b"},
                                     {1, "^inc.4", "inception4c"},
                                     {1, "^inc.5", "inception4d"},
                                     {1, "^inc.6", "inception4e"},
                                     {1, "^inc.7", "inception5a"},
                                     {1, "^inc.8", "inception5b"},
                                     {1, "^auxc.0", "aux1.conv"},
                                     {1, "^auxc.1", "aux2.conv"},
                                     {1, "^auxf1.0", "aux1.fc1"},
                                     {1, "^auxf1.1", "aux2.fc1"},
                                     {1, "^auxf2.0", "aux1.fc2"},
                                     {1, "^auxf2.1", "aux2.fc2"},
                                     {2, "0", "conv"},
                                     {2, "1", "bn"},
                                     {3, "b1", "branch1"},
                                     {3, "b2a", "branch2.0"},
                                     {3, "b2b", "branch2.1"},
                                     {3, "b3a", "branch3.0"},
                                     {3, "b3b", "branch3.1"},
                                     {3, "b4", "branch4.1"},
                                     {0, NULL, NULL}};

static const renaming inception[] = {{1, "^stem1", "Conv2d_1a_3x3"},
                                     {1, "^stem2", "Conv2d_2a_3x3"},
                                     {1, "^stem3", "Conv2d_2b_3x3"},
                                     {1, "^stem4", "Conv2d_3b_1x1"},
                                     {1, "^stem5", "Conv2d_4a_3x3"},
                                     {1, "^auxc1", "AuxLogits.conv0"},
                                     {1, "^auxc2", "AuxLogits.conv1"},
                                     {1, "^auxf", "AuxLogits.fc"},
                                     {1, "^a.0", "Mixed_5b"},
                                     {1, "^a.1", "Mixed_5c"},
                                     {1, "^a.2", "Mixed_5d"},
                                     {1, "^b.0", "Mixed_6a"},
                                     {1, "^c.0", "Mixed_6b"},
                                     {1, "^c.1", "Mixed_6c"},
                                     {1, "^c.2", "Mixed_6d"},
                                     {1, "^c.3", "Mixed_6e"},
                                     {1, "^d.0", "Mixed_7a"},
                                     {1, "^e.0", "Mixed_7b"},
                                     {1, "^e.1", "Mixed_7c"},
                                     {2, "0", "conv"},
                                     {2, "1", "bn"},
                                     {3, "a1", "branch1x1"},
                                     {3, "a5a", "branch5x5_1"},
                                     {3, "a5b", "branch5x5_2"},
                                     {3, "a3a", "branch3x3dbl_1"},
                                     {3, "a3b", "branch3x3dbl_2"},
                                     {3, "a3c", "branch3x3dbl_3"},
                                     {3, "r3", "branch3x3"},
                                     {3, "rda", "branch3x3dbl_1"},
                                     {3, "rdb", "branch3x3dbl_2"},
                                     {3, "rdc", "branch3x3dbl_3"},
                                     {3, "c1", "branch1x1"},
                                     {3, "c7a", "branch7x7_1"},
                                     {3, "c7b", "branch7x7_2"},
                                     {3, "c7c", "branch7x7_3"},
                                     {3, "cda", "branch7x7dbl_1"},
                                     {3, "cdb", "branch7x7dbl_2"},
                                     {3, "cdc", "branch7x7dbl_3"},
                                     {3, "cdd", "branch7x7dbl_4"},
                                     {3, "cde", "branch7x7dbl_5"},
                                     {3, "d3a", "branch3x3_1"},
                                     {3, "d3b", "branch3x3_2"},
                                     {3, "d7a", "branch7x7x3_1"},
                                     {3, "d7b", "branch7x7x3_2"},
                                     {3, "d7c", "branch7x7x3_3"},
                                     {3, "d7d", "branch7x7x3_4"},
                                     {3, "e1", "branch1x1"},
                                     {3, "e3", "branch3x3_1"},
                                     {3, "e3a", "branch3x3_2a"},
                                     {3, "e3b", "branch3x3_2b"},
                                     {3, "eda", "branch3x3dbl_1"},
                                     {3, "edb", "branch3x3dbl_2"},
                                     {3, "edc", "branch3x3dbl_3a"},
                                     {3, "edd", "branch3x3dbl_3b"},
                                     {3, "ap", "branch_pool"},
                                     {3, "cp", "branch_pool"},
                                     {3, "ep", "branch_pool"},
                                     {0, NULL, NULL}};

/* Number 0 are the network's own names. */
static const struct {
    const renaming *rules;
    const char *title;
} schemes[] = {{NULL, NULL},
               {resnet, "torchvision"},
               {alexnet, "torchvision"},
               {vgg16, "torchvision"},
               {shufflenet, "torchvision"},
               {googlenet, "torchvision"},
               {inception, "torchvision"},
               {own_resnet, "resnet50"}};
enum { SCHEMES = sizeof schemes / sizeof *schemes };

const char *hu_weight_naming_title(const hu_weight_naming *naming) {
    return schemes[naming->scheme].title;
}

/* Where words stand in a name as whole words, NULL: nowhere. */
static char *find_words(char *name, const char *words, bool at_begin) {
    size_t length = strlen(words);
    for (char *at = strstr(name, words); at; at = strstr(at + 1, words)) {
        bool begins = at == name || at[-1] == '.', ends = !at[length] || at[length] == '.';
        if (begins && ends && !(at_begin && at != name)) return at;
    }
    return NULL;
}

/* false: the result is too long. */
static bool replace(char *name, char *at, const char *from, const char *to) {
    char rest[HU_NAME_BYTES];
    size_t left = HU_NAME_BYTES - (size_t)(at - name);
    snprintf(rest, sizeof rest, "%s", at + strlen(from));
    return (size_t)snprintf(at, left, "%s%s", to, rest) < left;
}

/* Room for HU_NAME_BYTES; false: the result is too long. */
static bool rename_by(const renaming *rule, char *name) {
    int done = 0;
    for (; rule && rule->from; rule++) {
        bool at_begin = rule->from[0] == '^';
        const char *from = rule->from + at_begin;
        char *at = rule->pass > done ? find_words(name, from, at_begin) : NULL;
        if (!at) continue;
        if (!replace(name, at, from, rule->to)) return false;
        done = rule->pass;
    }
    return true;
}

bool hu_weight_name_there(const hu_weight_naming *naming, const char *name, char *text) {
    char core[HU_NAME_BYTES];
    size_t length = strlen(naming->ours);
    if (strncmp(name, naming->ours, length) != 0) return false;
    if (snprintf(core, sizeof core, "%s", name + length) >= HU_NAME_BYTES) return false;
    if (!rename_by(schemes[naming->scheme].rules, core)) return false;
    return snprintf(text, HU_NAME_BYTES, "%s%s", naming->theirs, core) < HU_NAME_BYTES;
}

/* ---- the search ---- */

enum { LOOKED_AT = 16, PREFIXES = 16 };

typedef struct search {
    const hu_graph *graph;
    const hu_safetensors *file;
    hu_weight_naming *best;
    size_t most; /* tensors that the best one finds */
} search;

bool hu_is_in_weights(const hu_value_info *value) {
    return value->role == HU_VALUE_PARAMETER || value->role == HU_VALUE_BUFFER;
}

static void try_naming(search *s, const hu_weight_naming *naming) {
    enum { SHARE = 3 };
    char name[HU_NAME_BYTES];
    size_t found = 0;
    for (hu_value_id v = 0; v < s->graph->value_count; v++) {
        const hu_value_info *value = &s->graph->value[v];
        if (hu_is_in_weights(value) && hu_weight_name_there(naming, value->name, name))
            found += hu_safetensors_find(s->file, name) != NULL;
    }
    bool is_chance = naming->ours[0] && SHARE * found < hu_safetensors_count(s->file);
    if (found <= s->most || is_chance) return;
    s->most = found;
    *s->best = *naming;
}

/* Is `tail` the end of the name, behind a dot? Then what stands before it, with the dot, goes into
 * prefix. */
static bool find_prefix(const char *name, const char *tail, char prefix[HU_NAME_BYTES]) {
    size_t length = strlen(name), end = strlen(tail);
    if (end == 0 || length <= end || length - end >= HU_NAME_BYTES) return false;
    const char *at = name + length - end;
    if (at[-1] != '.' || strcmp(at, tail) != 0) return false;
    snprintf(prefix, HU_NAME_BYTES, "%.*s", (int)(length - end), name);
    return true;
}

typedef struct prefixes {
    char text[PREFIXES][HU_NAME_BYTES];
    int count;
} prefixes;

static void add_prefix(prefixes *list, const char *prefix) {
    for (int i = 0; i < list->count; i++)
        if (strcmp(list->text[i], prefix) == 0) return;
    if (list->count < PREFIXES) snprintf(list->text[list->count++], HU_NAME_BYTES, "%s", prefix);
}

/* What the names of the file have in front of one of the network's, and the other way round. */
static void find_prefixes(const search *s, const hu_weight_naming *plain, const char *name,
                          prefixes *theirs, prefixes *ours) {
    char there[HU_NAME_BYTES], prefix[HU_NAME_BYTES];
    if (!hu_weight_name_there(plain, name, there)) return;
    for (size_t i = 0; i < hu_safetensors_count(s->file); i++) {
        const char *found = hu_safetensors_at(s->file, i)->name;
        if (find_prefix(found, there, prefix)) add_prefix(theirs, prefix);
        if (find_prefix(there, found, prefix)) add_prefix(ours, prefix);
    }
}

static void try_scheme(search *s, int scheme) {
    hu_weight_naming naming = {.scheme = scheme};
    prefixes theirs = {.count = 0}, ours = {.count = 0};
    int looked_at = 0;
    try_naming(s, &naming);
    for (hu_value_id v = 0; v < s->graph->value_count && looked_at < LOOKED_AT; v++) {
        if (!hu_is_in_weights(&s->graph->value[v])) continue;
        find_prefixes(s, &naming, s->graph->value[v].name, &theirs, &ours);
        looked_at++;
    }
    for (int i = 0; i < theirs.count; i++) {
        snprintf(naming.theirs, sizeof naming.theirs, "%s", theirs.text[i]);
        try_naming(s, &naming);
    }
    naming.theirs[0] = '\0';
    for (int i = 0; i < ours.count; i++) {
        snprintf(naming.ours, sizeof naming.ours, "%s", ours.text[i]);
        try_naming(s, &naming);
    }
}

void hu_weight_naming_find(const hu_graph *graph, const hu_safetensors *file,
                           hu_weight_naming *naming) {
    search s = {graph, file, naming, 0};
    *naming = (hu_weight_naming){.scheme = 0};
    for (int scheme = 0; scheme < SCHEMES; scheme++) try_scheme(&s, scheme);
}
