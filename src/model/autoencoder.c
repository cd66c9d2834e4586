/* autoencoder: a picture through a narrow code and back, fully connected (Hinton and Salakhutdinov
 * 2006, with relu); autoencoder-tied: the decoder uses the weights of the encoder. */
#include "model/builder.h"
#include "model/families.h"

/* Features of the two hidden widths at width 1. */
enum { HIDDEN = 128, CODE = 32 };

/* A layer with the initial weights that frameworks give it. */
static hu_value_id layer(hu_builder *b, const char *name, hu_value_id in, int64_t out) {
    hu_shape shape = hu_build_shape(b, in);
    hu_init usual = hu_init_usual(hu_shape_elements(&shape));
    return hu_build_linear(b, name, in, out, usual, usual);
}

/* A layer that goes back through the weights of layer OF. */
static hu_value_id tied(hu_builder *b, const char *name, hu_value_id in, const char *of,
                        int64_t out) {
    return hu_build_linear_tied(b, name, in, of, out, hu_init_usual(hu_build_channels(b, in)));
}

static hu_status build(const hu_model_options *options, hu_graph *graph, bool is_tied) {
    hu_builder b = hu_build_begin(options, graph);
    hu_value_id value = hu_build_input(&b);
    hu_shape picture = hu_build_shape(&b, value);
    int64_t pixels = hu_shape_elements(&picture);
    int64_t hidden = hu_build_width(HIDDEN, options->width);
    int64_t code = hu_build_width(CODE, options->width);
    value = layer(&b, "encode1", value, hidden);
    value = hu_build_relu(&b, "relu1", value);
    value = layer(&b, "encode2", value, code);
    value = hu_build_relu(&b, "code", value);
    value = is_tied ? tied(&b, "decode2", value, "encode2", hidden)
                    : layer(&b, "decode2", value, hidden);
    value = hu_build_relu(&b, "relu2", value);
    value = is_tied ? tied(&b, "decode1", value, "encode1", pixels)
                    : layer(&b, "decode1", value, pixels);
    value = hu_build_reshape(&b, "picture", value, &picture);
    hu_build_loss(&b, value);
    return b.status;
}

hu_status hu_model_autoencoder(const hu_model_options *options, hu_graph *graph) {
    return build(options, graph, false);
}

hu_status hu_model_autoencoder_tied(const hu_model_options *options, hu_graph *graph) {
    return build(options, graph, true);
}
