"""What the program says of itself: help of every verb, key and topic, man pages, completion, and examples that run."""
import json
import os
import re
import shlex
import shutil
import subprocess
import unittest
import tempfile

import program

SOURCE = os.environ.get("HALFULP_SOURCE", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
TOPICS = ["models", "data", "runs", "formats", "precisions", "tasks", "losses", "optimizers", "schedules", "keys", "exit-codes",
          "accumulators", "pytorch", "python", "onnx"]
# What makes an example small enough for a test.
SMALL = ["data.limit=64", "data.test_limit=16", "batch=16", "epochs=0.5", "threads=1", "run.quiet=on"]
TRAINS = ("train", "compare", "demo", "assign", "resume")


def ok(*words):
    code, out, err = program.call(*words, cwd="/")
    if code != 0 or err:
        raise AssertionError(f"{words}: exit {code}: {err}")
    return out


def verbs():
    with open(f"{SOURCE}/src/program/cli/verb.h", encoding="utf-8") as file:
        return re.findall(r"^    X\((\w+)\)", file.read(), re.MULTILINE)


def keys():
    """(full name, short form) of every row of the table."""
    with open(f"{SOURCE}/src/study/config/keys.list", encoding="utf-8") as file:
        return re.findall(r'^X\("([^"]+)", "([^"]*)"', file.read(), re.MULTILINE)


def complete(script, line, cwd):
    """What bash offers behind a line; readline cuts words at '=' and ':'."""
    words = [w for w in re.split(r"\s+|([=:])", line) if w] + ([""] if line.endswith(" ") else [])
    quoted = " ".join(f"'{w}'" for w in words)
    done = subprocess.run(["bash", "--norc", "-c", f"source {script}; COMP_LINE='{line}' COMP_POINT={len(line)}\n"
                           f"COMP_WORDS=({quoted}) COMP_CWORD={len(words) - 1}; _halfulp\n"
                           'printf "%s\\n" "${COMPREPLY[@]}"'], cwd=cwd, capture_output=True, text=True)
    return done.stdout.splitlines(), done.stderr


class Help(unittest.TestCase):
    def test_of_every_verb(self):
        for verb in verbs():
            out = ok("help", verb)
            self.assertEqual(out, ok(verb, "--help"))
            self.assertIn(f"usage: halfulp {verb} ", out)
            self.assertGreaterEqual(out.count(f"\n  halfulp {verb}"), 1, f"{verb}: examples")
            self.assertIn(verb, ok("--help"))

    def test_of_every_key(self):
        everything = ok("help", "keys")
        for name, short in keys():
            self.assertIn(f"\n{name}{', short: ' + short if short else ''}\n", everything)
        for name, short in keys()[::9]:
            for word in (name, short):
                if word and word not in verbs() + TOPICS:
                    self.assertTrue(ok("help", word).startswith(name), word)

    def test_of_topics_groups_and_models(self):
        for topic, part in zip(TOPICS, ["resnet74", "cifar100:DIR", "halfulp predict RUN", "e4m3fn", "hfp8", "autoencode", "nll", "lars",
                                        "cosine", "lr.warmup", "130", "kahan-cpd:F"]):
            self.assertIn(part, ok("help", topic))
        self.assertIn("scaler.backoff\n", ok("help", "scaler.*"))
        self.assertIn("predict.words\n", ok("help", "predict.*"))
        self.assertIn("optimizer=sgd lr=0.1", ok("help", "resnet18"))

    def test_of_formats_precisions_and_accumulators(self):
        listed = json.loads(ok("fmt", "--list", "--json"))
        for row in listed["formats"][::3]:
            page = ok("help", row["name"])
            what = "by table: " if row["specials"] == "table" else f": a sign, {row['exp_bits']} of "
            beginning = f"{row['name']}: a number format of {row['bits']} bits" + (" " if what[0] == "b" else "") + what
            self.assertTrue(page.startswith(beginning), page)
            self.assertIn(f"\n  {row['description']}\n", page)
        for row in listed["block_formats"][::3]:
            self.assertIn(f"a number format in blocks: {row['description']}\n", ok("help", row["name"]))
        for word, fmt in (("e5m1", "e5m1"), ("mxfp8:scale=ceil", "mxfp8:scale=ceil"), ("fp(4,3,4)", "'fp(4,3,4)'")):
            page = ok("help", word)
            self.assertIn(f"\n  halfulp fmt {fmt}: its limits", page)
            self.assertIn("`halfulp help precision`", page)
        page = ok("help", "hfp8")
        self.assertTrue(page.startswith("hfp8: an assignment, for precision=hfp8\n"), page)
        self.assertIn("low: fp(4,3,4) forward, fp(5,2,0) for gradients (precision.low=); high: fp(6,9,0)\n", page)
        shown = re.search(r"`halfulp (fmt .*?)` shows them", page).group(1)
        self.assertIn("fp(6,9,0)", ok(*shlex.split(shown)))
        for word in ("uniform8", "w=e4m3,grad=e5m2", "e4m3fn:scale=current"):
            self.assertTrue(ok("help", word).startswith(f"{word}: for precision={word}\n"), word)
        recipes = ok("help", "recipes")
        for word, lines in (("nvfp4-te", ["*.w: nvfp4:tile=16x16:as=te", "operand.high=last=15%"]),
                            ("unit-scaling", ["precision.scaling=unit", "*.dy: e5m2:ovf=sat"]),
                            ("deepseek-fp8", ["*.w: e4m3fn:tile=128x128:scale=f32:least=1e-4"]),
                            ("fp8-delayed-te", ["dy: e5m2:scale=real1024"]), ("mxfp8-te", ["*: mxfp8:scale=rceil"])):
            page = ok("help", word)
            self.assertTrue(page.startswith(f"{word}: a recipe, for precision={word}\n  "), page)
            for line in lines:
                self.assertIn(f"\n    {line}\n", page)
                self.assertIn(f"\n    {line}\n", recipes)
        for word, part in (("table", "one a line in the order of codes"), ("tile", "F:tile=RxC:scale=S"), ("P3109", "binaryKpP"),
                           ("posit", "positN"), ("takum", "takumlogN"), ("hadamard", ":random"), ("operand", "operand.rules="),
                           ("league", "`halfulp score`")):
            self.assertIn(part, " ".join(ok("help", word).split()))
        for word, line in (("fmacs", "a = fp32(a + x y): "), ("macs", "a = fp32(a + R(x y)): "), ("fmac", "a = R(a + x y): "),
                           ("mac:e4m3", "a = R(a + R(x y)): "), ("fmac8", "blocks of K terms"), ("kahan", "c = R(R(t - a) - y)"),
                           ("kahan-cpd", "y = R(R(x y) - c)")):
            self.assertRegex(ok("help", word), f"{word}: an accumulator, for .*\n  .*{re.escape(line)}")
            self.assertIn(line, ok("help", "accumulator"))
        self.assertTrue(ok("help", "accumulator").startswith("accumulator.name, short: accumulator\n"))

    def test_of_every_row_of_the_tables(self):
        for topic, key in (("tasks", "task"), ("losses", "loss"), ("optimizers", "optimizer"), ("schedules", "lr.schedule")):
            names = re.findall(r"^  ([a-z][a-z0-9_-]*)  +\S", ok("help", topic), re.MULTILINE)
            self.assertGreater(len(names), 4, topic)
            for name in names[::3]:
                self.assertIn(f", for {key}={name}\n", ok("help", name))
        for name, argument in (("demote", "R|memory=S"), ("demote:0.6", "R|memory=S"), ("pfq", "A-B"), ("staged", ""), ("uniform+promote", "")):
            self.assertRegex(ok("help", name), f"^{re.split('[:+]', name)[0]}: .*, for precision={re.split('[:+]', name)[0]}:?"
                             f"{re.escape(argument)}")

    def test_of_words_of_the_field(self):
        for word, part in (("arena", "one block of memory"), ("aggregate", "Lee et al."), ("fine-tuning", "init.skip"),
                           ("stalled", "accumulator"), ("sr", "--round=sr"), ("dynamic", "scaler=dynamic: `halfulp help scaler`"),
                           ("momentum", "`halfulp help optimizer.momentum`"), ("scaler", "auto: as the precision asks: dynamic of fp16")):
            self.assertIn(part, " ".join(ok("help", word).split()), word)
        for word, nearest in (("hfp9", "'hfp8'"), ("e4m3fm", "'e4m3fn'"), ("kahen", "'kahan'"), ("arenna", "'arena'")):
            code, out, err = program.call("help", word, cwd="/")
            self.assertEqual((code, out), (2, ""), word)
            self.assertIn(nearest, err)

    def test_of_every_kind_of_data(self):
        kinds = re.findall(r"^  ([a-z0-9-]+)((?::(?:DIR|FILE|SPEC))?)  ", ok("help", "data"), re.MULTILINE)
        self.assertGreater(len(kinds), 14)
        for kind, path in kinds:
            page = ok("help", f"data={kind}")
            self.assertTrue(page.startswith(f"data={kind}{path}\n  "), page[:60])
            self.assertRegex(page, rf"\nexamples:\n  halfulp train model=\S+ data={kind}")
            self.assertEqual(ok("help", kind), page)
            self.assertTrue(page.startswith(ok("help", f"{kind}:x")), kind)
            model, data = re.search(r"train model=(\S+) data=(\S+)", page).groups()
            self.assertEqual(ok("help", f"model={model}"), ok("help", model))
            self.assertIn("\nfiles:\n" if path or kind == "fashion-mnist" else "epochs", page + "epochs" * (kind == "contacts"))
        self.assertIn("DIR/CLASS/*.jpg", ok("help", "data=folder"))
        code, _, err = program.call("help", "data=foldr", cwd="/")
        self.assertEqual(code, 2)
        self.assertIn("'folder'", err)

    def test_files_of_a_run_are_those_it_leaves(self):
        with tempfile.TemporaryDirectory() as cwd:
            program.train(*program.TINY, "steps=2", "run.histogram_every=1", "model=cnn-s", cwd=cwd)
            told = re.findall(r"^  ([\w./]+\.\w+|checkpoint/)  ", ok("help", "runs"), re.MULTILINE)
            self.assertGreater(len(told), 8)
            for name in told:
                self.assertTrue(os.path.exists(f"{cwd}/run/{name}") or name == "classes.txt", name)
        for verb in re.findall(r"^  halfulp (\w+)", ok("help", "runs"), re.MULTILINE):
            self.assertIn(verb, verbs())

    def test_the_default_of_the_model_at_hand(self):
        self.assertIn("of cnn-s on fashion-mnist: 0.15\n", ok("help", "lr"))
        self.assertIn("of resnet20 on glyphs: 0.1\n", ok("help", "lr", "model=resnet20", "data=glyphs"))
        self.assertIn("of cnn-s on fashion-mnist: the same\n", ok("help", "lr.power", "model=cnn-s"))
        self.assertIn("read by: demo train", ok("help", "lr"))

    def test_lines_fit_a_terminal(self):
        long = [line for word in ("keys", "models", "data", "runs", "folder", "boxes", "text", "train", "predict") for line in ok("help", word).splitlines()
                if len(line) > 100]
        self.assertEqual(long, [])

    def test_verbs_stand_in_groups(self):
        out = ok("--help")
        for title, verb in (("train", "demo"), ("understand a training", "why"), ("compare", "compare"),
                            ("use a model", "predict"), ("formats", "fmt"), ("this machine, and help", "doctor")):
            self.assertRegex(out, rf"\n{title}:\n  {verb} ")
        listed = out[:out.index("\ncommon keys")]
        for verb in verbs():
            self.assertEqual(len(re.findall(rf"^  {verb} ", listed, re.MULTILINE)), 1, verb)

    def test_the_page_of_the_program_by_its_name(self):
        self.assertEqual(ok("man", "halfulp"), ok("man"))

    def test_unknown_words(self):
        code, out, err = program.call("help", "precison", cwd="/")
        self.assertEqual((code, out), (2, ""))
        self.assertIn("'precision'", err)

    def test_keys_of_other_verbs_are_warned_of(self):
        _, _, err = program.call("fmt", "e4m3", "lr=0.1", cwd="/")
        self.assertEqual(err, "warning: lr=0.1 has no effect: halfulp fmt does not read it\n")


class Pages(unittest.TestCase):
    def test_every_verb_and_key_is_in_the_page(self):
        page = ok("man")
        for verb in verbs():
            self.assertIn(f"halfulp\\-{verb}", page)
            own = ok("man", verb)
            self.assertTrue(own.startswith(f'.TH "halfulp-{verb}" 1'), own[:60])
            self.assertIn(".SH SYNOPSIS", own)
        for name, _ in keys():
            self.assertIn(f"\\fB{name}\\fR", page)

    def test_groff_takes_them(self):
        if not shutil.which("groff"):
            self.skipTest("no groff")
        for words in (["man"], ["man", "train"], ["man", "fmt"], ["man", "why"]):
            done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-b"], input=ok(*words), capture_output=True, text=True)
            self.assertEqual((done.returncode, [line for line in done.stderr.splitlines() if "break" not in line
                                                and "adjust" not in line]), (0, []), words)
            self.assertIn("General Commands Manual", done.stdout)


class Completion(unittest.TestCase):
    def test_every_verb_and_key_is_in_each_script(self):
        for shell in ("bash", "zsh", "fish"):
            script = ok("completion", shell)
            for word in [*verbs(), *(f"{name}=" for name, _ in keys())]:
                self.assertTrue(re.search(rf"(?<![\w.]){re.escape(word)}", script), f"{word} for {shell}")
            if shutil.which(shell):
                with tempfile.NamedTemporaryFile("w", suffix=shell) as file:
                    file.write(script)
                    file.flush()
                    done = subprocess.run([shell, "-n", file.name], capture_output=True, text=True)
                self.assertEqual((done.returncode, done.stderr), (0, ""), shell)
        for shell, flag in (("bash", "--encode"), ("zsh", "--encode"), ("fish", "-l encode")):
            self.assertTrue(flag in ok("completion", shell), f"flags for {shell}")
        self.assertEqual(program.call("completion", "csh", cwd="/")[0], 2)

    def test_bash_completes(self):
        with tempfile.TemporaryDirectory() as cwd:
            os.mkdir(f"{cwd}/runs")
            with open(f"{cwd}/script", "w", encoding="utf-8") as file:
                file.write(ok("completion", "bash"))
            for line, expected in {"halfulp tr": ["train "], "halfulp train lr.sch": ["lr.schedule="],
                                   "halfulp train lr.schedule=cos": ["cosine"], "halfulp fmt --l": ["--list "],
                                   "halfulp train storage=": ["packed", "float32", "dense"],
                                   "halfulp train data=cif": ["cifar10:", "cifar100:"],
                                   "halfulp train data=folder:ru": ["runs/"], "halfulp resume ru": ["run", "runs/"],
                                   "halfulp train model=resnet2": ["resnet20"], "halfulp model resnet2": ["resnet20 "],
                                   "halfulp model googlenet-s ou": ["out.file=", "out="], "halfulp help exit": ["exit-codes "]}.items():
                found, err = complete(f"{cwd}/script", line, cwd)
                self.assertEqual(err, "", line)
                if expected == ["run", "runs/"]:
                    self.assertIn("runs/", found)
                else:
                    self.assertEqual(found, expected, line)


class Examples(unittest.TestCase):
    """Each example of the help, with names put in; trainings are made small by keys behind them."""

    def test_they_run(self):
        with tempfile.TemporaryDirectory() as cwd:
            program.write_cifar(f"{cwd}/DIR")
            program.put(cwd, "FILE", b"0.1\n3\n")
            for picture in ("A.png", "FOLDER/B.png"):
                program.put(cwd, picture, program.png(20, 16, (200, 40, 90)))
            program.train("data=glyphs", *SMALL, cwd=cwd, run="RUN")
            for verb in verbs():
                for words in re.findall(rf"^  halfulp ({verb}\b.*)$", ok("help", verb), re.MULTILINE):
                    if words == "demo" or words.startswith("bench gemm") and not program.has_onednn():
                        continue  # its data may not be installed, nor what it measures beside
                    small = SMALL if verb in TRAINS else []
                    if verb == "resume":
                        small = ["threads=1"]
                    if verb == "assign":
                        words = words.replace("model=resnet20 data=cifar10:DIR", "data=glyphs")
                        small = [*SMALL, "assign.rungs=1", "assign.random=0", "assign.short=0", "seeds=1"]
                    if words.startswith("score "):
                        small = ["steps=1", "data.limit=64", "data.test_limit=64", "seeds=1", "parallel=2"]
                    if words.startswith("bench all"):
                        small = ["seconds=0", "elements=1000", "m=16", "n=16", "k=16", "model=cnn-s", "batch=8"]
                    if "seeds=1,2,3" in words:
                        words = words.replace("seeds=1,2,3", "seeds=1").replace("fp32,1/6/9,hfp8", "fp32")
                    if verb in ("compare", "assign", "demo"):
                        small = [*small, f"run.dir=d{abs(hash(words))}"]
                    command = " ".join([*words.split(" < ")[0].split(" > ")[0].split(), *small])
                    done = self.run_one(command, words, cwd)
                    self.assertIn(done.returncode, (0, 1) if verb in ("doctor", "assign") else (0,),
                                  f"{command}: {done.stderr}")

    @staticmethod
    def run_one(command, words, cwd):
        lasting = " ".join(f"'{w}'" if not w.startswith("'") else w for w in program.last_of_each(command.split()))
        behind = " < FILE" if " < " in words else ""
        return subprocess.run(f"{program.HALFULP} {lasting}{behind}", shell=True, cwd=cwd, capture_output=True,
                              text=True, timeout=program.patience(120))


unittest.main()
