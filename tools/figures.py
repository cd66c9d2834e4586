#!/usr/bin/env python3
"""Figures in the documents that are the same on every machine: memory, counts, and results of short trainings.

    tools/figures.py [--halfulp=build/halfulp] [--long] [--write]

Each row names a page, a command and the words of the page with places for the figures. The command is run, and the page
must hold these words with these figures; --write puts them there. Rows that train are run with --long alone (a few
minutes), in `./go test exhaustive`. In the pages these words end in a small circle, °.
"""
import json
import os
import re
import subprocess
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
MIB = 1048576
NUMBER = r"[-+]?[\d,]*\.?\d+"


def option(name, usual):
    found = [word.split("=", 1)[1] for word in sys.argv if word.startswith(f"--{name}=")]
    return found[-1] if found else usual


def run(verb, words):
    """The program's JSON; a training leaves no folder."""
    program = os.path.abspath(option("halfulp", os.path.join(ROOT, "build", "halfulp")))
    done = subprocess.run([program, verb, *words.split(), "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"halfulp {verb} {words}: exit {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


def memory(plan):
    """MiB of a plan: what is held in all, and what waits for the backward pass; packed and as float32."""
    bytes_of = plan["memory_bytes"]
    return {f"{role}_{kind}": bytes_of[role][kind] / MIB for role in ("total", "saved") for kind in ("packed", "float32")}


def in_hfp8(words):
    return lambda: memory(run("plan", f"{words} precision=hfp8 threads=2"))


def counts(words):
    def made():
        plan = run("plan", f"{words} threads=2")
        return {"parameters": plan["parameters"], "macs": plan["macs"]}
    return made


def of_the_demo(precision):
    """Two places, as the demo's table has them."""
    def made():
        plan = memory(run("plan", f"model=cnn-s precision={precision} threads=2"))
        return {"saved": plan["saved_packed"], "total": plan["total_packed"]}
    return made


def resnet20_saved():
    made = {}
    for name, words in (("with", "recompute=on"), ("without", "recompute=off")):
        for precision in ("hfp8", "fp32"):
            plan = memory(run("plan", f"model=resnet20 precision={precision} batch=128 threads=2 {words}"))
            made[f"{precision}_{name}"] = plan["saved_packed"]
        made[f"ratio_{name}"] = made[f"hfp8_{name}"] / made[f"fp32_{name}"]
    return made


def narrow_cnn(precision):
    """Test accuracy of the narrow low format, seeds 1 and 2, in percent."""
    def made():
        words = ("model=cnn-s data=fashion-mnist data.limit=20000 data.test_limit=5000 epochs=2 eval.every=0 threads=1 "
                 f"precision={precision} precision.low=act=fp(2,5,2),w=fp(2,5,2),grad=fp(5,2,0) run.quiet=on")
        found = [100 * run("train", f"{words} seed={seed} run.dir=none")["test_accuracy"] for seed in (1, 2)]
        return {"first": found[0], "second": found[1], "mean": sum(found) / 2}
    return made


HFP8 = "{total_packed:.2f} MiB of {total_float32:.2f} in float32; what waits for the backward pass {saved_packed:.2f} of {saved_float32:.2f}°"
DEMO = [("fp32", "fp32"), ("fp16", "fp16, dynamic loss scale"), ("1/6/9", "1/6/9, no scaling"), ("hfp8", "hfp8 everywhere"),
        ("e4m3fn:ovf=sat", "e4m3fn:ovf=sat everywhere, no scaling"),
        ("e4m3fn:scale=current", "e4m3fn:scale=current everywhere")]


def results(topic):
    return os.path.join("docs", "results", f"{topic}.md")


# Page, what makes the figures, the words: "..." stands for words in between that have no figures of the row.
ROWS = [
    *[(results("sequences"), in_hfp8(f"model={model}"), f"Memory in hfp8 (`halfulp plan model={model} precision=hfp8`): {HFP8}")
      for model in ("transformer-lm-s", "lstm-lm-s", "bert-tiny-s")],
    (results("sequences"), in_hfp8("model=seq2seq-s batch=32"),
     f"Memory in hfp8 (`halfulp plan model=seq2seq-s precision=hfp8 batch=32`): {HFP8}"),
    (results("trainings"), resnet20_saved,
     "with recompute {hfp8_with:.2f} over {fp32_with:.2f} MiB, **{ratio_with:.3f}**; without {hfp8_without:.2f} over "
     "{fp32_without:.2f} MiB, **{ratio_without:.3f}**°"),
    (results("index"), resnet20_saved, "in hfp8 keeps **{ratio_with:.3f}**° of what float32 keeps"),
    *[(results("trainings"), of_the_demo(precision), f"| {label} | ... | {{saved:.2f}} MiB | {{total:.2f}} MiB° |")
      for precision, label in DEMO],
    *[("README.md", of_the_demo(precision), f"    {label} ... {{saved:.2f}} MiB  {{total:.2f}} MiB ")
      for precision, label in DEMO],
    (results("pictures"), counts("model=pan"), "pan has {parameters:,} parameters and {macs:,} multiply-accumulates for a small picture of 64 x 64 pixels°"),
]
LONG = [
    (results("assignments"), narrow_cnn("uniform"), "`uniform` {mean:.2f} % (chance, both seeds)°"),
    (results("assignments"), narrow_cnn("uniform+promote"), "**`uniform+promote` {mean:.2f} %** ({first:.2f}, {second:.2f})°"),
]


def pattern_of(words):
    """The words as a pattern that takes any figures, each a group, and lines that end at any space."""
    made = ""
    for part in re.split(r"(\{[^}]*\}|\.\.\.| {2,})", words):
        if part == "...":
            made += r"[^\n]*?"
        elif part.startswith("{"):
            made += f"({NUMBER})"
        else:
            made += " +" if part.isspace() and len(part) > 1 else re.escape(part).replace(r"\ ", r"\s+")
    return re.compile(made)


def corrected(words, found, figures):
    """What stands in the page, with the right figures in the places of its own."""
    text = found.group()
    marks = re.findall(r"\{[^}]*\}", words)
    for place in range(len(marks), 0, -1):
        begin, end = (at - found.start() for at in found.span(place))
        text = text[:begin] + marks[place - 1].format(**figures) + text[end:]
    return text


def main():
    pages, wrong = {}, 0
    for page, make, words in ROWS + (LONG if "--long" in sys.argv else []):
        path = os.path.join(ROOT, page)
        if path not in pages:
            with open(path, encoding="utf-8") as file:
                pages[path] = file.read()
        found = pattern_of(words).search(pages[path])
        if not found:
            print(f"FAILED: {page}: nothing like: {words}")
            wrong += 1
            continue
        right = corrected(words, found, make())
        if right != found.group():
            print(f"{'written' if '--write' in sys.argv else 'FAILED'}: {page}: found: {found.group()}\n  expected: {right}")
            wrong += "--write" not in sys.argv
            pages[path] = pages[path].replace(found.group(), right, 1)
    for path, text in pages.items() if "--write" in sys.argv else ():
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    print(f"{len(ROWS)} figures{' and ' + str(len(LONG)) + ' of trainings' if '--long' in sys.argv else ''}, {wrong} wrong")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
