/* The network file that a configuration names. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text_file.h"
#include "config/load.h"

/* A file of 100,000 nodes has 5 MB. */
enum { FILE_BYTES = 1 << 28, VALUES_MOST = 1 << 24 };

static bool ends_in(const char *text, const char *end) {
    size_t length = strlen(text), bytes = strlen(end);
    return length > bytes && strcmp(text + length - bytes, end) == 0;
}

bool hu_is_network_path(const char *text) {
    return ends_in(text, ".yaml") || ends_in(text, ".yml");
}

/* name: what messages call the file. */
static hu_status read_as(const char *path, const char *name, char **text, hu_keys **file) {
    size_t bytes;
    *file = NULL;
    hu_status st = hu_text_read(path, FILE_BYTES, text, &bytes);
    if (st != HU_OK) return st;
    return hu_yaml_parse_most(*text, bytes, VALUES_MOST, name, file);
}

static void forget_text(hu_config *config) {
    hu_keys_free(config->network);
    hu_free(config->network_text);
    config->network = NULL;
    config->network_text = NULL;
}

void hu_config_network_forget(hu_config *config) {
    forget_text(config);
    hu_free(config->network_copy);
    config->network_copy = NULL;
}

hu_status hu_network_file_read(const char *path, char **text, hu_keys **file) {
    return read_as(path, path, text, file);
}

hu_status hu_config_network_recall(hu_config *config, const char *directory) {
    hu_status st = HU_OK;
    const char *name;
    char *path = NULL;
    bool is_present;
    HU_TRY(hu_config_text(config, "model.name", &name));
    if (!hu_is_network_path(name)) return HU_OK;
    HU_TRY(hu_path_join(directory, HU_NETWORK_FILE, &path));
    HU_TRY(hu_file_find(path, &is_present));
    if (!is_present) goto done;
    hu_config_network_forget(config);
    config->network_copy = path;
    path = NULL;
done:
    hu_free(path);
    return st;
}

hu_status hu_config_network_share(const hu_config *from, hu_config *to) {
    hu_status st = HU_OK;
    const char *name, *own;
    HU_TRY(hu_config_text(from, "model.name", &name));
    HU_TRY(hu_config_text(to, "model.name", &own));
    if (strcmp(name, own) != 0) return HU_OK;
    hu_config_network_forget(to);
    if (from->network_copy) HU_TRY(hu_strdup(from->network_copy, &to->network_copy));
    if (!from->network) return HU_OK;
    HU_TRY(hu_strdup(from->network_text, &to->network_text));
    HU_TRY(hu_keys_copy(from->network, &to->network));
done:
    if (st != HU_OK) hu_config_network_forget(to);
    return st;
}

/* name: of model.name, which messages tell beside the copy. */
static hu_status read_file(hu_config *config, const char *name) {
    char both[HU_CONFIG_NAME_BYTES];
    const char *copy = config->network_copy;
    if (!copy) return hu_network_file_read(name, &config->network_text, &config->network);
    snprintf(both, sizeof both, "%.120s (%.120s)", name, copy);
    return read_as(copy, both, &config->network_text, &config->network);
}

hu_status hu_config_network(hu_config *config, const hu_keys **file) {
    hu_status st = HU_OK;
    const char *name;
    *file = NULL;
    HU_TRY(hu_config_text(config, "model.name", &name));
    if (!hu_is_network_path(name)) return HU_OK;
    if (!config->network) st = read_file(config, name);
    if (st == HU_OK) *file = config->network;
    if (st != HU_OK) forget_text(config);
done:
    return st;
}

const char *hu_config_network_text(const hu_config *config) {
    return config->network_text;
}
