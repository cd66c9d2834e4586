"""Five steps from init=check beside figures of another program in double, where the data are there.

HALFULP_TINYIMAGENET10 names a folder with train/ and val/ of ten classes of Tiny ImageNet, 64 pixels a side;
HALFULP_CAMVID one with train/, trainannot/, test/ and testannot/ of CamVid at 160x120; HALFULP_FRAMES one with the
first eight in train/ and the last four in test/, by name, of twelve of its frames at 480x360; HALFULP_CIFAR10 one
with the binary files of CIFAR-10, those of training in the order in which the figures were made; HALFULP_FSDD one of
spoken digits of four speakers, 800 and 200; HALFULP_TEXT one with wikitext2_test.txt and wikitext2_valid.txt;
HALFULP_MULTI30K one with train and test_2016_flickr of Multi30k in English and French. What is not named is left
out, and so is Fashion-MNIST where it is not installed; without any the test is skipped. The figures are those of
PyTorch in float64 on the same data; float32 of torch is
away from them by a tenth of the tolerances. In inception3-s a relu turns over behind one of 10^7 sums that float32
and float64 round to different sides of zero: float32 of torch meets the gradient found here, float64 does not. So
there the first loss alone is held.
"""
import os
import sys

import program

FIGURES = {
    "alexnet-s": ("0.02", [2.2997230, 2.3186200, 2.2907412, 2.3122717, 2.3029303], 2e-6, 0.208883, 2e-6,
                  {"conv1.weight": 0.029147, "conv5.weight": 0.066700, "fc8.bias": 0.093063},
                  {9: 2.301180, 29: 2.294417}),
    "googlenet-s": ("0.05", [3.6856774, 3.6832663, 3.6850671, 3.6849616, 3.6870531], 2e-6, 0.133679, 2e-6,
                    {"conv1.weight": 0.000785, "inc.4.b4.weight": 0.000081, "auxf2.1.bias": 0.029398},
                    {9: 3.686816, 29: 3.686582}),
    "preresnet50-s": ("0.0001", [2.2906850, 2.3274272, 2.3369135, 2.3590579, 2.3801808], 1e-3, 8.865932, 5e-3,
                      {"conv1.weight": 4.867854, "blocks.8.bn1.weight": 0.039470, "fc.bias": 0.087529}, {}),
    "inception3-s": ("0.001", [2.3708581], 1e-6, None, None, {"fc.bias": 0.088993}, {}),
    "fcn-s": ("0.001", [3.5691080, 3.5459700, 3.6062961, 3.5673802, 3.5203787], 2e-4, 3.251351, 1e-3,
              {"stem.0.weight": 0.814624, "layer3.0.sc.0.weight": 0.179181, "auxcls.bias": 0.144683}, {}),
    "cvae-s": ("0.0001", [539.1998989, 537.0403737, 532.6949868, 528.7464573, 529.4624574], 2e-6, 199.636869, 2e-6,
               {"conv1.weight": 0.041156, "logvar.bias": 0.240849, "deconv4.bias": 171.974713},
               {9: 517.483972, 29: 467.682399}),
}
FIGURES["deit-s"] = ("0.02", [2.5632556, 2.4574627, 2.6540147, 2.3393106, 2.4184509], 2e-6, 7.702143, 2e-6,
                     {"cls": 1.179774, "blocks.2.ln1.weight": 0.079005, "head.bias": 0.332220},
                     {9: 2.509792, 29: 2.081246})
# Thirty steps of pan-s are known in float64; float32 of torch is 1e-5 away from them.
FIGURES["pan-s"] = ("0.02", [0.0676418, 0.0758657, 0.0571369, 0.0516764, 0.0385294], 5e-5, 0.591561, 1e-4,
                    {"conv_first.weight": 0.022639, "trunk.2.conv3.weight": 0.000376, "conv_last.bias": 0.485020},
                    {9: 0.025644, 29: 0.041017})
# Clips of spoken digits; norms take the rows of padding too, as the program of the figures does.
FIGURES["ds2-s"] = ("0.0002", [67.0309557, 77.3552422, 67.1152551, 47.4884624, 50.1387834], 1e-5, 87.735548, 2e-5,
                    {"conv1.weight": 25.716476, "gru.bias_ih_l0_reverse": 2.394695, "fc.bias": 10.163503},
                    {9: 51.277448, 29: 19.412306})
# Models of texts.
FIGURES.update({
    "transformer-lm-s": ("0.01", [9.5485212, 9.0755469, 8.9634834, 9.1413829, 8.5817778], 2e-6, 4.608149, 2e-6,
                         {"emb.weight": 2.509475, "blocks.1.fc2.bias": 0.139280, "blocks.3.fc2.bias": 0.113691},
                         {9: 9.173001, 29: 8.204221}),
    "lstm-lm-s": ("1", [8.8903246, 8.8524899, 8.8108813, 8.7665836, 8.7560483], 2e-6, 0.204167, 2e-6,
                  {"emb.weight": 0.055127, "lstm.weight_ih_l1": 0.020129, "out.bias": 0.166049},
                  {9: 8.518185, 29: 7.001960}),
    "biglstm-s": ("0.5", [8.1891895, 8.4062824, 8.1782182, 8.2132754, 7.8964724], 2e-6, 0.242465, 2e-6,
                  {"emb.weight": 0.002590, "lstm.weight_ih_l1": 0.008831, "soft.bias": 0.211338},
                  {9: 8.304374, 29: 6.650161}),
    "bert-tiny-s": ("0.1", [9.8981606, 9.4004201, 9.5258786, 8.1342535, 9.0850057], 2e-6, 4.445452, 2e-6,
                    {"word.weight": 2.043994, "blocks.1.attn.q.weight": 0.130948, "out.bias": 0.190354},
                    {9: 8.510293, 29: 7.995305}),
    "seq2seq-s": ("0.5", [8.7660424, 8.7419034, 8.7254808, 8.6994246, 8.6735127], 2e-6, 0.251623, 2e-6,
                  {"src.weight": 0.002086, "dec.weight_hh_l0": 0.003665, "out.bias": 0.177479},
                  {9: 8.489047, 29: 6.124223}),
})
# Data by the variable that names them, and the samples of a step.
PICTURES = ("HALFULP_TINYIMAGENET10", ["data=folder:{}", "data.size=64", "data.crop=64", "data.test_limit=16", "batch=16"])
STREETS = ("HALFULP_CAMVID", ["data=dense:{}", "data.unlabelled=11", "data.test_limit=2", "batch=2"])
FASHION = ("/usr/share/datasets/fashion-mnist", ["data=fashion-mnist", "data.test_limit=16", "batch=16"])
OBJECTS = ("HALFULP_CIFAR10", ["data=cifar10:{}", "data.limit=5085", "data.test_limit=16", "batch=16"])
FRAMES = ("HALFULP_FRAMES", ["data=pairs:{}", "data.crop=12", "batch=4"])
SPEECH = ("HALFULP_FSDD", ["data=speech:{}", "norm.rows=all", "batch=4"])
WORDS = ["data=text:{}/wikitext2_test.txt", "data.valid={}/wikitext2_valid.txt", "data.unit=word", "data.min_count=3",
         "data.test_limit=16", "batch=8"]
SENTENCES = ("HALFULP_MULTI30K", ["data=parallel:{}", "data.source=en", "data.target=fr", "data.test=test_2016_flickr",
                                  "data.test_limit=8", "batch=8"])
SEGMENTS = ("HALFULP_TEXT", ["data=segments:{}/wikitext2_test.txt", *WORDS[1:2], *WORDS[3:]])
DATA = {"fcn-s": STREETS, "pan-s": FRAMES, "cvae-s": FASHION, "deit-s": OBJECTS, "ds2-s": SPEECH,
        "transformer-lm-s": ("HALFULP_TEXT", [*WORDS, "data.length=32"]),
        "lstm-lm-s": ("HALFULP_TEXT", [*WORDS, "data.length=16"]),
        "biglstm-s": ("HALFULP_TEXT", [*WORDS, "data.length=16", "model.negatives=256"]),
        "bert-tiny-s": SEGMENTS, "seq2seq-s": SENTENCES}
# Of the later steps: ten times what float32 of torch is away there, where that is less than usual.
LATER = {"cvae-s": 2e-6, "deit-s": 2e-6, "pan-s": 1e-4, "transformer-lm-s": 9e-5, "lstm-lm-s": 2e-6, "biglstm-s": 2e-5,
         "bert-tiny-s": 2e-6, "seq2seq-s": 2e-6}


# Two networks that learn in turns: rate, losses of each, later ones, the norm of the gradient and some of its parts.
TURNS = {"dcgan-s": ("0.002", {"disc": [1.3987753, 1.4170030, 1.4117303, 1.4134057, 1.4083891],
                               "gen": [0.6901813, 0.6823851, 0.6726218, 0.6764222, 0.6808443]},
                     {"disc": {9: 1.4191890, 29: 1.4211946}, "gen": {9: 0.6820882, 29: 0.6845952}}, 2.5663890,
                     {"gen.ct1.weight": 1.0277204, "gen.ct4.bias": 0.0211344, "disc.conv1.weight": 0.3495726,
                      "disc.fc1.weight": 1.4849582}, FASHION)}


def place_of(source):
    """The folder that a variable names, or an installed one; None where there is none."""
    return source if os.path.isdir(source) else os.environ.get(source)


def mixed_speech(folder, cwd):
    """The clips in the order of the figures: number 97 k of 800 as clip k, by links and a list of their words."""
    digits = "zero one two three four five six seven eight nine".split()
    made = os.path.join(cwd, "mixed")
    for half in ("train", "test"):
        os.makedirs(os.path.join(made, half))
        names = sorted(os.listdir(os.path.join(folder, half)))
        if half == "train":
            names = [names[97 * k % len(names)] for k in range(120)]
        with open(os.path.join(made, half, "transcripts.txt"), "w", encoding="utf-8") as file:
            for k, name in enumerate(names[:120]):
                os.symlink(os.path.abspath(os.path.join(folder, half, name)), os.path.join(made, half, f"{k:03d}.wav"))
                file.write(f"{k:03d}\t{digits[int(name[0])]}\n")
    return made


def near(checks, what, found, figure, tolerance, digits):
    """The figure is rounded to so many digits behind the point."""
    room = tolerance * abs(figure) + 0.5 * 10 ** -digits
    checks.that(abs(found - figure) <= room, f"{what}: found {found!r}, expected {figure} within {room:.2g}")


def runs(checks, cwd):
    for model, (lr, losses, of_losses, norm, of_norm, norms, later) in FIGURES.items():
        variable, words = DATA.get(model, PICTURES)
        folder = place_of(variable)
        if not folder:
            print(f"{model} is left out: {variable} is or names no folder")
            continue
        if model == "ds2-s":
            folder = mixed_speech(folder, cwd)
        made = program.train(f"model={model}", *(word.format(folder) for word in words), "init=check",
                             f"steps={30 if later else len(losses)}", f"lr={lr}", "norms=on", "eval.every=0", "threads=2",
                             cwd=cwd, run=model)
        for step, figure in enumerate(losses):
            near(checks, f"{model}, loss {step}", made["losses"][step], figure, 1e-6 if step == 0 else of_losses, 7)
        for step, figure in later.items():
            near(checks, f"{model}, loss {step}", made["losses"][step], figure, LATER.get(model, 8e-6), 6)
        if norm:
            near(checks, f"{model}, norm", made["first_gradient_norm"], norm, of_norm, 6)
        for name, figure in norms.items():
            near(checks, f"{model}, {name}", made["first_gradient_norms"][name], figure, 10 * (of_norm or 2e-6), 6)
        if model == "pan-s":
            near(checks, "bicubic enlargement", made["baseline"]["value"], 24.002954353008484, 1e-12, 12)


def turns(checks, cwd):
    for model, (lr, losses, later, norm, norms, (folder, words)) in TURNS.items():
        if not place_of(folder):
            print(f"{model} is left out: {folder} is no folder")
            continue
        made = program.train(f"model={model}", *words, "init=check", "steps=30", f"lr={lr}", "norms=on", "eval.every=0",
                             "threads=2", cwd=cwd, run=model)
        near(checks, f"{model}, norm", made["first_gradient_norm"], norm, 2e-6, 7)
        for name, figure in norms.items():
            near(checks, f"{model}, {name}", made["first_gradient_norms"][name], figure, 2e-5, 7)
        checks.same(set(made["losses"]), set(losses), f"{model}, turns")
        for name, figures in losses.items():
            for step, figure in enumerate(figures):
                near(checks, f"{model}, {name}, loss {step}", made["losses"][name][step], figure,
                     1e-6 if step == 0 else 2e-6, 7)
            for step, figure in later[name].items():
                near(checks, f"{model}, {name}, loss {step}", made["losses"][name][step], figure, 8e-6, 7)


if not any(place_of(variable) for variable, _ in (PICTURES, *DATA.values())):
    print("skipped: no variable names a folder of data")
    sys.exit(77)
program.main(runs, turns)
