
#include <string.h>

#include <halfulp/data.h>

#include "help/internal.h"

/* Files in lines of their own, then commands. Kinds that need no files have a command alone. */
typedef struct layout {
    const char *kind, *files, *examples;
} layout;

static const layout layouts[] = {
    {"fashion-mnist",
     "  four files *-ubyte.gz in /usr/share/datasets/fashion-mnist (Debian's\n"
     "  dataset-fashion-mnist), or in fashion-mnist/ of the folder HALFULP_DATA\n",
     "  halfulp train model=cnn-s data=fashion-mnist\n"},
    {"idx",
     "  DIR/train-images-idx3-ubyte   pictures, plain or .gz (or train-images.idx3-ubyte)\n"
     "  DIR/train-labels-idx1-ubyte   their classes\n"
     "  DIR/t10k-...                  the same of two files to test with (or test-...)\n"
     "  DIR/classes.txt               a name in each line, where classes have names\n",
     "  halfulp train model=cnn-s data=idx:DIR\n"},
    {"cifar10", "  DIR/data_batch_1.bin ... data_batch_5.bin, test_batch.bin: the binary version\n",
     "  halfulp train model=resnet20 data=cifar10:DIR\n"},
    {"cifar100", "  DIR/train.bin, test.bin: the binary version\n",
     "  halfulp train model=resnet20 data=cifar100:DIR\n"},
    {"glyphs", "", "  halfulp train model=cnn-s data=glyphs epochs=1\n"},
    {"contacts", "", "  halfulp train model=cvae-s data=contacts\n"},
    {"folder",
     "  DIR/train/CLASS/*.jpg   (.jpeg, .jfif, .png, .webp) a folder for each class\n"
     "  DIR/val/CLASS/*.jpg     to test with (or test/CLASS)\n"
     "or all in one, of which data.validation=0.2 draws a fifth of each class to test with:\n"
     "  DIR/CLASS/*.jpg\n",
     "  halfulp train model=cnn-s data=folder:DIR data.validation=0.2 batch=16 epochs=40\n"
     "  halfulp train model=shufflenet-v2 data=folder:DIR data.size=72 data.crop=64\n"
     "  halfulp predict RUN A.jpg FOLDER\n"},
    {"dense",
     "  DIR/train/NAME.jpg          (or .png) pictures\n"
     "  DIR/trainannot/NAME.png     their label maps: grey or with a palette, byte = class\n"
     "                              (data.labels=[0,255]: of black and white maps)\n"
     "  DIR/test, DIR/testannot     the same to test with (or val, valannot)\n"
     "  DIR/classes.txt             a name in each line, where classes have names\n",
     "  halfulp train model=fcn-s data=dense:DIR data.unlabelled=11\n"},
    {"boxes",
     "  DIR/ImageSets/Main/train.txt   names; test.txt (or val.txt) of those to test with\n"
     "  DIR/JPEGImages/NAME.jpg        (.jpeg, .png) pictures\n"
     "  DIR/Annotations/NAME.xml       their boxes, as PASCAL VOC has them\n",
     "  halfulp train model=ssd-s data=boxes:DIR data.size=120\n"},
    {"pairs",
     "  DIR/train/*.png   (.jpg, .jpeg) large pictures; small ones are made of them\n"
     "  DIR/test/*.png    to test with (or val), all of one size\n",
     "  halfulp train model=pan-s data=pairs:DIR data.scale=4\n"},
    {"speech",
     "  DIR/train/NAME.wav          or .flac, .ogg and others\n"
     "  DIR/train/transcripts.txt   a line for each: NAME, a tab, what is said\n"
     "  DIR/test/...                the same to test with (or val)\n",
     "  halfulp train model=ds2-s data=speech:DIR\n"},
    {"sounds",
     "  DIR/train/CLASS/NAME.wav   or .flac, .ogg and others; a folder for each class\n"
     "  DIR/val/CLASS/...          the same to test with (or test); without train and val:\n"
     "  DIR/CLASS/NAME.wav         data.validation=0.2 draws some to test with\n",
     "  halfulp train model=cnn-s data=sounds:DIR\n"},
    {"text", "  FILE   a text; its last tenth is to test with, or data.valid=OTHER\n",
     "  halfulp train model=lstm-lm-s data=text:FILE data.unit=word data.min_count=3\n"},
    {"parallel",
     "  DIR/train.LANG   a sentence in each line, the same one in both languages; .gz too\n"
     "  DIR/test.LANG    to test with (or val.LANG, or data.test=NAME)\n",
     "  halfulp train model=seq2seq-s data=parallel:DIR data.source=en data.target=fr\n"},
    {"segments",
     "  FILE   a text; lines as \" = heading = \" end a document. Its last tenth is to test\n"
     "         with, or data.valid=OTHER\n",
     "  halfulp train model=bert-tiny-s data=segments:FILE data.min_count=3\n"},
    {"ink", "  SPEC   data of grey pictures: fashion-mnist, idx:DIR\n",
     "  halfulp train model=dense-s data=ink:fashion-mnist\n"},
};

/* Row of the library's table whose name the word has before its colon; NULL: none. */
static const char *find_kind(const char *word, const char **help) {
    size_t length = strcspn(word, ":");
    const char *name;
    for (size_t i = 0; (name = hu_data_kind_name(i)) != NULL; i++) {
        *help = hu_data_kind_help(i);
        if (strcspn(name, ":") == length && strncmp(name, word, length) == 0) return name;
    }
    return NULL;
}

bool hu_is_data_kind(const char *word) {
    const char *help;
    return find_kind(word, &help) != NULL;
}

const char *hu_data_kind_word(size_t index) {
    return index < sizeof layouts / sizeof *layouts ? layouts[index].kind : NULL;
}

void hu_put_data_kind(hu_page *page, const char *word) {
    enum { INDENT = 2 };
    const char *help, *name = find_kind(word, &help);
    if (!name) return;
    hu_page_put(page, "data=%s\n%*s", name, INDENT, "");
    hu_put_wrapped(page, help, INDENT, INDENT);
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        const layout *l = &layouts[i];
        if (strlen(l->kind) != strcspn(name, ":") || strncmp(l->kind, name, strlen(l->kind)) != 0)
            continue;
        hu_page_put(page, "%s%s", *l->files ? "\nfiles:\n" : "", l->files);
        hu_page_put(page, "\nexamples:\n%s", l->examples);
    }
    if (strchr(name, ':'))
        hu_page_put(page, "\nA relative path begins where halfulp is started. `halfulp help "
                          "'data.*'` tells of all keys,\n`halfulp help data` of the other kinds; "
                          "docs/reference/data-*.md have every detail.\n");
}

void hu_put_runs(hu_page *page) {
    hu_page_put(
        page,
        "A training leaves a folder, RUN: run.dir=RUN, or a new one below runs/, which its last\n"
        "lines name. In it:\n\n"
        "  checkpoint/            the newest states; best/ that of the best evaluation\n"
        "  config.resolved.yaml   all keys: config=FILE run.dir=NEW trains the same again\n"
        "  metrics.csv            loss, rate, speed and metrics by step\n"
        "  progress.jsonl         what happened, as it happens\n"
        "  numerics.jsonl         what rounding did to every tensor\n"
        "  histograms.jsonl       exponents of every tensor's numbers\n"
        "  plan.resolved.yaml     how every tensor is rounded: precision=FILE takes it\n"
        "  classes.txt            names of classes, vocabulary.txt of words\n"
        "  report.html            pictures of the run\n"
        "  result.json            what it came to; not there while it runs\n\n"
        "Read by:\n\n"
        "  halfulp resume RUN           goes on, to the same bits (epochs=N: further)\n"
        "  halfulp watch RUN            follows it while it runs\n"
        "  halfulp list                 all runs below runs/; list FOLDER\n"
        "  halfulp predict RUN [FILE]   what it says of test samples, or of files\n"
        "  halfulp eval RUN             metrics, classes taken for each other\n"
        "  halfulp export RUN           weights for PyTorch\n"
        "  halfulp why RUN              which tensor its numbers died in, and what to try\n"
        "  halfulp stats RUN            which range its numbers needed\n"
        "  halfulp report RUN...        one page of several runs\n\n"
        "predict and eval read the run's data again; data=KIND:PATH says where they are now.\n"
        "predict with files, export, why, stats, list, watch and report need the folder alone.\n"
        "docs/reference/run-folder.md tells of every file, column by column.\n");
}
