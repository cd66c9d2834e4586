/* Words of the field, and of what stands inside of the names of formats. */
#include <string.h>
#include <strings.h>

#include "help/internal.h"

static const struct {
    const char *name, *help;
} terms[] = {
    {"aggregate", "the model aggregate (Lee et al.): the bits of all tensors of a batch and of "
                  "their gradients, each in its format, whether or not they are in memory at the "
                  "same time; budget=memory:S bounds it as a share of float32's"},
    {"arena", "the one block of memory in which all tensors of a step lie. Which lies where is "
              "planned before the first step, so that `halfulp plan` knows what a training takes"},
    {"binade", "the numbers from one power of two to the next; a format has as many of each as "
               "its mantissa bits say"},
    {"checkpoint", "all that a training needs to go on to the same bits: `halfulp resume RUN`; "
                   "run.checkpoint_every= and checkpoint=best choose which are kept and read"},
    {"codes", "numbers in the bits of their format, 8 or 16 for each: `halfulp fmt F --table`, "
              "export weights=codes"},
    {"collapsed", "a training that ended no better than guessing"},
    {"diverged", "a training that ended at a number that is infinite or no number"},
    {"fine-tuning", "training that begins with weights which have seen other data: init=RUN or "
                    "init=FILE; init.skip='fc.*' leaves out the head, lr.rules= holds parts still. "
                    "docs/how-to/fine-tuning.md"},
    {"hadamard", "a rotation of what a product multiplies, in groups of H: behind a block format, "
                 "nvfp4:hadamard=16; :random draws its signs in every step. "
                 "docs/reference/numerics/operands.md"},
    {"histogram", "how many numbers of a tensor have which exponent, every "
                  "run.histogram_every= steps: what `halfulp stats`, `halfulp why` and the report "
                  "reckon formats by"},
    {"league", "formats that were scored once and for all: `halfulp score` lists them, `halfulp "
               "score F` finds the place of F among them; docs/league"},
    {"ledger", "the memory of a training by what it is for, planned before the first step and "
               "equal to what was allocated: `halfulp plan`"},
    {"loss-scaling", "the loss times a factor, so that small gradients do not become zero in their "
                     "format; divided out before the update. scaler="},
    {"low-ratio", "the share of all numbers of a batch that are in the low of two formats"},
    {"master", "the float32 weights that the optimizer changes; products see them rounded. "
               "master=off keeps none, eval.weights= says which are judged"},
    {"operand", "what a product multiplies: LAYER.forward.x and .w, .input_grad.dy and .w, "
                ".weight_grad.dy and .x. operand.rules= and recipes round it for that product "
                "alone, operand.high= leaves layers out"},
    {"overflow", "a number beyond the largest of its format: it becomes infinite, NaN or that "
                 "largest number, as :ovf= says"},
    {"p3109", "IEEE P3109: binaryKpP and s or u (signed or not), e or f (with infinities or "
              "without): binary8p3se; K = 3..16, P = 1..K-1 (unsigned ..K), as far as float32 "
              "holds them; :sat=finite|propagate|none. docs/reference/numerics/tables.md"},
    {"posit",
     "positN, N = 3..16, as posit8: the standard of 2022, 2 exponent bits; posit8:es=1 others"},
    {"promotion", "a tensor that overflows too often gets the high of two formats for good: "
                  "+promote behind a precision, precision.promote_at="},
    {"saved", "what the forward pass keeps for the backward pass: activations and masks"},
    {"scheme", "where in a step numbers are rounded, after one of three papers: precision.scheme="},
    {"skipped", "a step whose gradients or loss were not finite: it changes no weight, and a "
                "dynamic loss scale falls"},
    {"stalled", "a sum of a low-precision accumulator that a term left as it was, as the term was "
                "too small beside it"},
    {"subnormal", "a number below the smallest normal one of its format, with fewer bits of "
                  "precision; :sub=n has none"},
    {"table", "table:FILE is a number format of one's own: a file with a number for each code, one "
              "a line in the order of codes, or a number and the boundary to the next larger one; "
              "inf, -inf, nan, # for notes; 2 to 65,536 codes. `halfulp fmt table:FILE` checks and "
              "shows it. docs/how-to/score-a-format.md"},
    {"takum", "takumN, N = 3..16, as takum8: the linear ones; takumlogN: the logarithmic ones"},
    {"tile",
     "so many lines and columns of numbers that share a scale: F:tile=RxC:scale=S behind a format, "
     "as e4m3fn:tile=1x128:scale=f32; S is f32, floor, ceil, rceil or even (powers of two), or a "
     "number format, as ue5m3. `halfulp fmt` shows one. docs/reference/numerics/formats.md"},
    {"trouble", "a tensor in trouble lost half of its nonzero numbers or more to zero or to "
                "overflow in a step: `halfulp why RUN`"},
    {"underflow", "a number that is not zero and becomes zero, as it is too small for its format"},
};
enum { TERMS = sizeof terms / sizeof *terms };

const char *hu_term_at(size_t index) {
    return index < TERMS ? terms[index].name : NULL;
}

bool hu_put_term(hu_page *page, const char *word) {
    for (size_t i = 0; i < TERMS; i++) {
        if (strcasecmp(terms[i].name, word) != 0) continue;
        hu_page_put(page, "%s\n  ", word);
        hu_put_wrapped(page, terms[i].help, 2, 2);
        return true;
    }
    return false;
}
