"""Prompts: how a language model goes on with a text, in bytes, characters and words, and what it refuses."""
import json
import os
import pathlib
import subprocess

import program

LINES = ["the cat sat on the mat .", "the dog lay on the mat .", "", "a cat and a dog sat and lay ."]
SIZE = ["model=transformer-lm-s", "model.width=0.125", "batch=4", "data.length=8", "threads=1", "lr=0.01"]


def trained(cwd, name, unit, *words):
    """A short training; its text is gone behind it."""
    text = pathlib.Path(f"{cwd}/{name}.txt")
    text.write_text("".join(line + "\n" for line in LINES * 20), encoding="utf-8")
    program.train(f"data=text:{text}", f"data.unit={unit}", *SIZE, *words, cwd=cwd, run=name)
    text.unlink()


def said(checks, cwd, run, text, *words, given=None):
    """The object that predict prints, and its notes."""
    done = subprocess.run([program.HALFULP, "predict", run, f"text={text}", *words, "--json"], cwd=cwd, input=given,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    checks.same(done.returncode, 0, f"{run} {text!r}: {done.stderr}")
    return json.loads(done.stdout or "{}"), done.stderr


def windows_agree(checks, cwd):
    """The likeliest word behind a text is that of a window of test data which holds it."""
    trained(cwd, "run", "word", "steps=60")
    text = "the cat sat on the mat ."
    for step in range(4):
        words = text.replace("\n", " <eos> ").split()[-8:]
        pathlib.Path(f"{cwd}/window.txt").write_text(" ".join([*words, *["a"] * (9 - len(words))]).replace(" <eos> ", "\n") + "\n",
                                                     encoding="utf-8")
        code, out, err = program.call("predict", "run", "data=text:window.txt", "data.valid=window.txt", "--json", cwd=cwd)
        checks.same(code, 0, f"step {step}: {err}")
        expected = json.loads(out)["predictions"][0]["text"].split()[len(words) - 1]
        made, _ = said(checks, cwd, "run", text, "predict.words=1", "predict.temperature=0")
        checks.same(made["likeliest"], "\n" if expected == "<eos>" else expected, f"behind {text!r}")
        text += made["likeliest"] if expected == "<eos>" else ("" if text.endswith("\n") else " ") + expected
    whole, _ = said(checks, cwd, "run", "the cat sat on the mat .", "predict.words=4", "predict.temperature=0")
    glue = "" if whole["likeliest"].startswith("\n") else " "
    checks.same("the cat sat on the mat ." + glue + whole["likeliest"], text, "four words at once")
    checks.same((whole["unit"], whole["tokens"], whole["made"], "drawn" in whole), ("words", 7, 4, False), "what is told")


def states_begin_with_zeros(checks, cwd):
    """A network whose states are carried: a prompt is what the first window of a stream is."""
    text = pathlib.Path(f"{cwd}/carried.txt")
    text.write_text("".join(line + "\n" for line in LINES * 20), encoding="utf-8")
    words = ["model=lstm-lm-s", "model.width=0.25", "data.unit=word", "data.length=8", "batch=4", "epochs=8", "lr=0.02", "threads=1"]
    program.train(f"data=text:{text}", *words, cwd=cwd, run="carried")
    code, out, err = program.call("predict", "carried", "count=1", "--json", cwd=cwd)
    checks.same(code, 0, f"windows: {err}")
    window = json.loads(out)["predictions"][0]
    lines = (" <eos> ".join(LINES * 20) + " <eos>").split()
    first = next(i for i in range(len(lines)) if lines[i + 1:i + 9] == window["truth"].split())
    prompt = " ".join(lines[first:first + 8]).replace("<eos>", "\n")
    text.unlink()
    made, _ = said(checks, cwd, "carried", prompt, "predict.words=1", "predict.temperature=0")
    expected = window["text"].split()[7]
    checks.same((made["tokens"], made["likeliest"]), (8, "\n" if expected == "<eos>" else expected), f"behind {prompt!r}")


def draws_are_repeatable(checks, cwd):
    trained(cwd, "drawn", "char", "steps=30")
    first, _ = said(checks, cwd, "drawn", "the ", "predict.words=40")
    for more in (["threads=2"], ["storage=float32"], ["predict.seed=1", "predict.temperature=1"]):
        again, _ = said(checks, cwd, "drawn", "the ", "predict.words=40", *more)
        checks.same((again["drawn"], again["likeliest"]), (first["drawn"], first["likeliest"]), f"{more}")
    other, _ = said(checks, cwd, "drawn", "the ", "predict.words=40", "predict.seed=2")
    checks.that(other["drawn"]["text"] != first["drawn"]["text"], "another seed")
    checks.same(other["likeliest"], first["likeliest"], "the likeliest text has no seed")
    cold, _ = said(checks, cwd, "drawn", "the ", "predict.words=40", "predict.temperature=0.0001")
    checks.same(cold["drawn"]["text"], cold["likeliest"], "nearly no temperature: the likeliest")
    hot, _ = said(checks, cwd, "drawn", "the ", "predict.words=150", "predict.temperature=1000")
    letters = set("".join(LINES)) | {"\n"}
    checks.that(letters >= set(hot["drawn"]["text"]) and len(set(hot["drawn"]["text"])) >= len(letters) - 2,
                f"much of it: all letters, {hot['drawn']['text']!r}")


def texts_come_from_anywhere(checks, cwd):
    trained(cwd, "bytes", "byte", "steps=5", "precision=hfp8")
    long = "the mat . " * 9
    program.put(cwd, "prompt.txt", long.encode())
    words = ["predict.words=12"]
    plain, _ = said(checks, cwd, "bytes", long, *words)
    checks.same(plain["tokens"], 90, "bytes, of which the network sees the last 8")
    for text, given in (("@prompt.txt", None), ("-", long), (long[-8:], None)):
        made, _ = said(checks, cwd, "bytes", text, *words, given=given)
        checks.same((made["likeliest"], made["drawn"]), (plain["likeliest"], plain["drawn"]), f"{text[:10]!r}")
    code, out, _ = program.call("predict", "bytes", "text=the ", "predict.words=4", cwd=cwd)
    checks.that(code == 0 and out.startswith("likeliest:\nthe ") and "4 bytes behind 4" in out, f"for people: {out!r}")
    checks.that("\x1b" not in out and "\x00" not in out, "nothing that steers a terminal")


def tokens_of_no_text_are_not_said(checks, cwd):
    """Of a network with scores of more tokens than its text has (model.vocab), those of the text alone are said."""
    trained(cwd, "wide", "char", "model.vocab=2000", "steps=2")
    hot, _ = said(checks, cwd, "wide", "the ", "predict.words=60", "predict.temperature=1000")
    letters = set("".join(LINES)) | {"\n"}
    checks.that(letters >= set(hot["drawn"]["text"] + hot["likeliest"]), f"{hot}")
    checks.same((len(hot["drawn"]["text"]), len(hot["likeliest"])), (60, 60), "as many as were asked for")


def what_is_refused(checks, cwd):
    trained(cwd, "words", "word", "steps=2")
    program.put(cwd, "window.txt", b"the cat sat on the mat .\nthe dog lay .\n")
    code, out, err = program.call("predict", "words", "data=text:window.txt", "data.valid=window.txt", cwd=cwd)
    checks.same((code, out[out.rfind("text: "):][:45]), (0, "text: for each place the likeliest next token"), err)
    made, notes = said(checks, cwd, "words", "the zebra sat on the zebra")
    text = " ".join(f"zebra{k % 9} lay" for k in range(600))
    pathlib.Path(f"{cwd}/rare.txt").write_text(text, encoding="utf-8")
    program.train(f"data=text:{cwd}/rare.txt", "data.unit=word", "data.min_count=100", *SIZE, "steps=20", cwd=cwd, run="rare")
    for more, is_said in ((["predict.unknown=on"], True), (["predict.unknown=off"], False)):
        rare, _ = said(checks, cwd, "rare", "lay", "predict.words=40", "predict.temperature=3", *more)
        checks.same(("<unk>" in rare["likeliest"], "<unk>" in rare["drawn"]["text"]), (is_said, is_said), f"{more}")
    checks.same((made["unknown"], notes.count("does not know 'zebra', and reads <unk>")), (["zebra"], 1), f"unknown: {notes}")

    def refuses(code, word, *given):
        found, _, err = program.call("predict", *given, cwd=cwd)
        checks.same(found, code, f"{given}: exit code")
        checks.that(word in err, f"{given}: no '{word}' in {err!r}")
    refuses(2, "predict.text: found no token", "words", "text= ")
    refuses(3, "none.txt: cannot open", "words", "text=@none.txt")
    program.put(cwd, "latin.txt", b"the cat\nsat \xe9\n")
    refuses(3, "latin.txt: line 2, byte 5: found 0xe9, expected UTF-8", "words", "text=@latin.txt")
    refuses(2, "predict.words", "words", "text=a", "predict.words=0")
    for key, advice in (("out.file=a.csv", "is printed"), ("count=2", "predict.words=N says how many tokens"),
                        ("out.pictures=a.png", "no pictures"), ("predict.top=3", "the likeliest tokens are printed")):
        refuses(2, f"found '{key}' beside predict.text", "words", "text=a", key)
        refuses(2, advice, "words", "text=a", key)
    path = pathlib.Path(f"{cwd}/words/vocabulary.txt")
    kept = path.read_text(encoding="utf-8")
    path.write_text(kept + "zebra\n", encoding="utf-8")
    refuses(2, "'emb.weight' of model transformer-lm-s", "words", "text=a")
    path.write_text(kept.replace("<unk>\n", ""), encoding="utf-8")
    refuses(3, "vocabulary.txt: found no <unk>, expected it among the words", "words", "text=a")
    path.write_text("", encoding="utf-8")
    refuses(3, "vocabulary.txt: found no word", "words", "text=a")
    os.remove(path)
    refuses(3, "found no vocabulary.txt beside the run", "words", "text=a")
    program.train(*program.TINY, "model=cnn-s", "model.width=0.25", "steps=1", cwd=cwd, run="sees")
    refuses(2, "which only a run of text:FILE can go on with; sees was trained on glyphs", "sees", "text=a")


program.main(windows_agree, states_begin_with_zeros, draws_are_repeatable, texts_come_from_anywhere,
             tokens_of_no_text_are_not_said, what_is_refused)
