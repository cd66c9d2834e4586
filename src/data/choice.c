/* Which wishes of a choice a kind of data can fulfil. */
#include <stdarg.h>
#include <stdio.h>

#include "base/error.h"
#include "data/kind.h"

/* One wish of a choice: HU_ERR_ARGUMENT unless it is fine. only: the kinds that take it; found: its
 * key and value. */
__attribute__((format(printf, 4, 5))) static hu_status
check_wish(const char *name, bool is_fine, const char *only, const char *found, ...) {
    enum { FOUND_BYTES = 80 };
    char text[FOUND_BYTES];
    va_list args;
    if (is_fine) return HU_OK;
    va_start(args, found);
    vsnprintf(text, sizeof text, found, args);
    va_end(args);
    return hu_fail(HU_ERR_ARGUMENT, "data %s: found %s, expected none: it can be chosen of %s only",
                   name, text, only);
}

/* What is asked of the pixels: sizes, crops and scales. */
static hu_status check_sizes(const hu_data_kind *kind, const hu_image_choice *c, const char *name) {
    hu_status st;
    if (kind->takes_pairs && c->size)
        return hu_fail(HU_ERR_ARGUMENT,
                       "data %s: found data.size=%lld, expected none: small images are made by "
                       "data.scale",
                       name, (long long)c->size);
    HU_TRY(check_wish(name, kind->takes_size || !c->size, "folder:DIR, dense:DIR and boxes:DIR",
                      "data.size=%lld", (long long)c->size));
    HU_TRY(check_wish(name, kind->takes_crop || !c->crop, "folder:DIR, dense:DIR and pairs:DIR",
                      "data.crop=%lld", (long long)c->crop));
    HU_TRY(check_wish(name, kind->takes_scales || c->most_scale == 0.0, "dense:DIR",
                      "data.scales=%g-%g", c->least_scale, c->most_scale));
    HU_TRY(check_wish(name, kind->takes_samples || !c->box_samples, "boxes:DIR",
                      "data.box_samples=on"));
    HU_TRY(check_wish(name, kind->takes_pairs || !c->scale, "pairs:DIR", "data.scale=%lld",
                      (long long)c->scale));
    HU_TRY(check_wish(name, kind->takes_pairs || !c->crops, "pairs:DIR", "data.crops=%lld",
                      (long long)c->crops));
done:
    return st;
}

/* What is asked of two languages. */
static hu_status check_parallel(const hu_data_kind *kind, const hu_text_choice *c,
                                const char *name) {
    static const char parallel[] = "parallel:DIR";
    const char *const key[] = {"source", "target", "test", "source_vocabulary"};
    const char *const found[] = {c->source, c->target, c->test, c->source_vocabulary};
    hu_status st = HU_OK;
    for (size_t i = 0; st == HU_OK && i < sizeof key / sizeof *key; i++)
        st = check_wish(name, kind->takes_parallel || !found[i], parallel, "data.%s=%s", key[i],
                        found[i]);
    return st;
}

/* What is asked of a text. */
static hu_status check_text(const hu_data_kind *kind, const hu_text_choice *c, const char *name) {
    static const char text[] = "text:FILE and segments:FILE";
    static const char both[] = "text:FILE, segments:FILE and parallel:DIR";
    bool is_text = kind->takes_text, is_either = is_text || kind->takes_parallel;
    hu_status st;
    HU_TRY(check_wish(name, is_text || c->unit == HU_TEXT_BYTES, text, "data.unit=%s",
                      c->unit == HU_TEXT_WORDS    ? "word"
                      : c->unit == HU_TEXT_PIECES ? "piece"
                                                  : "char"));
    if (kind->reads_bytes && c->unit == HU_TEXT_BYTES && c->least_count)
        return hu_fail(
            HU_ERR_ARGUMENT,
            "data %s: found data.min_count=%lld, which has no effect on bytes: all 256 are "
            "known; expected data.unit=word or char beside it",
            name, (long long)c->least_count);
    HU_TRY(check_wish(name, is_either || !c->least_count, both, "data.min_count=%lld",
                      (long long)c->least_count));
    HU_TRY(
        check_wish(name, is_either || !c->length, both, "data.length=%lld", (long long)c->length));
    HU_TRY(check_wish(name, is_text || !c->streams, text, "data.streams"));
    HU_TRY(check_wish(name, is_text || !c->valid, text, "data.valid=%s", c->valid));
    HU_TRY(
        check_wish(name, is_either || !c->vocabulary, both, "data.vocabulary=%s", c->vocabulary));
    st = check_parallel(kind, c, name);
done:
    return st;
}

hu_status hu_data_kind_check(const hu_data_kind *kind, const hu_image_choice *c, const char *name) {
    static const char folder[] = "folder:DIR and sounds:DIR", heard[] = "speech:DIR and sounds:DIR";
    bool takes_parts = kind->takes_parts;
    hu_status st;
    HU_TRY(check_wish(name, (takes_parts && kind->takes_size) || c->area == 0.0, "folder:DIR",
                      "data.area=%g", c->area));
    HU_TRY(check_wish(name, takes_parts || !c->classes, folder, "data.classes=%lld",
                      (long long)c->classes));
    HU_TRY(check_wish(name, takes_parts || !c->parts, folder, "data.part=%lld/%lld",
                      (long long)c->part, (long long)c->parts));
    HU_TRY(check_wish(name, (takes_parts && kind->takes_size) || !c->skips_damaged, "folder:DIR",
                      "data.damaged=skip"));
    HU_TRY(check_wish(name, kind->takes_unlabelled || !c->unlabelled, "dense:DIR",
                      "data.unlabelled=%lld", (long long)c->unlabelled - 1));
    HU_TRY(check_wish(name, kind->takes_unlabelled || !c->label_count, "dense:DIR", "data.labels"));
    HU_TRY(check_wish(name, kind->takes_frames || !c->frames, heard, "data.frames=%lld",
                      (long long)c->frames));
    HU_TRY(check_wish(name, kind->takes_frames || !c->rate, heard, "data.rate=%lld",
                      (long long)c->rate));
    HU_TRY(check_text(kind, &c->text, name));
    st = check_sizes(kind, c, name);
done:
    return st;
}
