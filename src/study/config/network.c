/* The network file that a configuration names. */
#include <string.h>

#include "base/error.h"
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

static void forget(hu_config *config) {
    hu_keys_free(config->network);
    hu_free(config->network_text);
    hu_free(config->network_path);
    config->network = NULL;
    config->network_text = config->network_path = NULL;
}

hu_status hu_network_file_read(const char *path, char **text, hu_keys **file) {
    size_t bytes;
    *file = NULL;
    hu_status st = hu_text_read(path, FILE_BYTES, text, &bytes);
    if (st != HU_OK) return st;
    return hu_yaml_parse_most(*text, bytes, VALUES_MOST, path, file);
}

static hu_status read_file(hu_config *config, const char *path) {
    hu_status st;
    HU_TRY(hu_strdup(path, &config->network_path));
    HU_TRY(hu_network_file_read(path, &config->network_text, &config->network));
done:
    if (st != HU_OK) forget(config);
    return st;
}

hu_status hu_config_network(hu_config *config, const hu_keys **file) {
    hu_status st = HU_OK;
    const char *path;
    *file = NULL;
    HU_TRY(hu_config_text(config, "model.name", &path));
    if (!hu_is_network_path(path)) return HU_OK;
    if (!config->network_path || strcmp(config->network_path, path) != 0) {
        forget(config);
        HU_TRY(read_file(config, path));
    }
    *file = config->network;
done:
    return st;
}

const char *hu_config_network_text(const hu_config *config) {
    return config->network_text;
}
