#include "store/other_weights.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"

/* Rows are tried in order. lines: %1$s is the file as a string of Python, %2$s
 * the one to write. */
static const struct {
    const char *magic; /* what the file begins with */
    size_t length;
    const char *ending; /* and ends in; "": in anything */
    const char *what, *lines;
} kinds[] = {
    {"PK\3\4", 4, ".npz", "arrays of NumPy",
     "import numpy, safetensors.numpy; w = dict(numpy.load(%1$s)); "
     "safetensors.numpy.save_file(w, %2$s)"},
    {"PK\3\4", 4, ".keras", "a model of Keras", ""},
    {"PK\3\4", 4, "", "a file of PyTorch (a zip of pickles, which can run code when they are read)",
     "import torch, safetensors.torch; w = torch.load(%1$s, map_location='cpu', "
     "weights_only=True); safetensors.torch.save_file({k: v.clone().contiguous() for k, v in "
     "w.get('state_dict', w).items()}, %2$s)"},
    {"\x80", 1, "", "a file of PyTorch or another pickle (which can run code when it is read)",
     "import torch, safetensors.torch; w = torch.load(%1$s, map_location='cpu', "
     "weights_only=True); safetensors.torch.save_file({k: v.clone().contiguous() for k, v in "
     "w.get('state_dict', w).items()}, %2$s)"},
    {"\x08", 1, ".onnx", "a network of ONNX",
     "import onnx, onnx.numpy_helper, safetensors.numpy; w = {t.name: "
     "onnx.numpy_helper.to_array(t) for t in onnx.load(%1$s).graph.initializer}; "
     "safetensors.numpy.save_file(w, %2$s)"},
    {"\x89HDF", 4, "", "a file of HDF5, as Keras writes it", ""},
    {"GGUF", 4, "", "a file of GGUF", ""},
    {"\x93NUMPY", 6, "", "one array of NumPy, without a name", ""},
};

static bool ends_in(const char *text, const char *ending) {
    size_t length = strlen(text), end = strlen(ending);
    return length >= end && strcmp(text + length - end, ending) == 0;
}

hu_status hu_other_weights(const char *path, const uint8_t *head, size_t bytes) {
    static const char ending[] = ".safetensors";
    enum { LINES = 2048, PATH = 512 };
    char lines[LINES] = "", file[PATH], stem[PATH], made[PATH];
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (bytes < kinds[i].length || memcmp(head, kinds[i].magic, kinds[i].length) != 0) continue;
        if (!ends_in(path, kinds[i].ending)) continue;
        int length = snprintf(stem, sizeof stem - sizeof ending, "%s", path);
        char *dot = strrchr(stem, '.'), *slash = strrchr(stem, '/');
        if (dot && (!slash || dot > slash)) *dot = '\0';
        strcat(stem, ending);
        /* A path that is cut would be another one. */
        bool fits = length >= 0 && (size_t)length < sizeof stem - sizeof ending &&
                    hu_quote_python(path, file, sizeof file) &&
                    hu_quote_python(stem, made, sizeof made);
        if (kinds[i].lines[0] && fits) snprintf(lines, sizeof lines, kinds[i].lines, file, made);
        return hu_fail(HU_ERR_ARGUMENT, "%s: found %s, expected a safetensors file%s%s", path,
                       kinds[i].what, lines[0] ? "; in Python: " : "", lines);
    }
    return HU_OK;
}
