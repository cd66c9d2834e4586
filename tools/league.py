#!/usr/bin/env python3
"""The league: every line of docs/league/formats.txt scored by the whole suite, and the pages that tell it.

    tools/league.py [halfulp=build/halfulp] [list=docs/league/formats.txt] [out=docs/league] [run.dir=runs/score]
                    [only=pages] [parallel=N] [again=on]

Each row is `halfulp score WORDS --json`; rows of league.json are taken as they are (again=on: trained again) and of a
row that was begun what has been trained is only read, so the command can be stopped and given again. Rows that the program does not know are passed over. league.json is written after each row; at the end also
league.csv, index.md, the rows in the program (src/study/sweep/league.list) and, once the program has been built with
them, the picture league.svg. only=pages makes these of league.json, without training.
"""
import csv
import datetime
import html
import json
import math
import os
import platform
import re
import shlex
import subprocess
import sys
import textwrap

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")

# What the five papers say of formats, as pairs of rows: the first is at least as good as the second.
CLAIMS = [
    ("Micikevicius et al. 2018", "fp16 with loss scaling trains as float32 does", "fp16", "fp32"),
    ("Micikevicius et al. 2018", "and better than without", "fp16", "fp16 scaler=none"),
    ("Popescu et al. 2021", "1/6/9 with subnormals trains as float32 does", "1/6/9/d", "fp32"),
    ("Popescu et al. 2021", "and is at least as good as without them", "1/6/9/d", "1/6/9/n"),
    ("Popescu et al. 2021", "FMAC-8 in 1/6/9 may take all sums", "fp32 accumulator=fmac8:1/6/9", "fp32"),
    ("Han et al. (APS, CPD)", "Kahan's sum makes up for fp16 accumulators", "fp32 accumulator=kahan:fp16",
     "fp32 accumulator=fmac:fp16"),
    ("Lee et al. 2022", "hfp8 trains as float32 does", "hfp8", "fp32"),
    ("Lee et al. 2022", "and is at least as good as one E5M2 everywhere", "hfp8", "e5m2"),
    ("Yu et al. 2022", "learned bits are at least as good as cyclic ones of the same range", "ldp:4-8", "cpt:4-8"),
    ("Yu et al. 2022", "and as progressive ones", "ldp:4-8", "pfq:4-8"),
]


def option(name, usual):
    found = [word.split("=", 1)[1] for word in sys.argv[1:] if word.startswith(f"{name}=")]
    return found[-1] if found else usual


def path_of(name, usual):
    return os.path.abspath(option(name, os.path.join(ROOT, usual)))


def read_list(path):
    """Words of each row, and the heading that it stands below."""
    rows, heading = [], ""
    with open(path, encoding="utf-8") as file:
        for line in file:
            line = line.strip()
            if line.startswith("## "):
                heading = line[3:]
            elif line and not line.startswith("#"):
                rows.append((heading, shlex.split(line)))
    return rows


def watched():
    """The program stops, as after Ctrl-C, when the process that this names has ended, however that ended."""
    return {**os.environ, "HALFULP_PARENT": str(os.getpid())}


def score(program, words):
    """The program's object; None where it does not know the words, or cannot train them. A full disk and Ctrl-C end
    this: the same command goes on."""
    more = [word for word in sys.argv[1:] if word.startswith(("parallel=", "run.threads="))]
    folder = f"run.dir={path_of('run.dir', 'runs/score')}"
    done = subprocess.run([program, "score", *words, folder, *more, "--json"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False, env=watched())
    if done.returncode == 0:
        return json.loads(done.stdout)
    message = done.stderr.strip().splitlines()[-1] if done.stderr.strip() else ""
    print(f"{shlex.join(words)}: {message}", file=sys.stderr)
    if done.returncode in (5, 130) or done.returncode < 0:
        sys.exit(done.returncode)
    return None


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        names = re.findall(r"^model name\s*:\s*(.*)$", file.read(), re.M)
    return f"{names[0]}, {os.cpu_count()} processors" if names else platform.machine()


def about():
    commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short=12", "HEAD"], stdout=subprocess.PIPE, text=True,
                            check=False).stdout.strip()
    return {"date": datetime.date.today().isoformat(), "machine": processor(), "commit": commit}


def write(path, text):
    """As a whole or not at all."""
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(path + ".new", path)


def mark_front(rows):
    """Nothing has at least this score with no more bits, and is better in one of both."""
    for mine in rows:
        mine["front"] = not any(
            other["score"] >= mine["score"] and other["bits"] <= mine["bits"]
            and (other["score"] > mine["score"] or other["bits"] < mine["bits"]) for other in rows)


def keep(out, facts, rows, passed):
    """league.json: the best first."""
    rows = sorted(rows, key=lambda row: -row["score"])
    mark_front(rows)
    league = {**facts, "suite": "halfulp-score", "version": rows[0]["version"] if rows else None, "rows": rows,
              "unknown": passed}
    write(f"{out}/league.json", json.dumps(league, indent=1) + "\n")
    return league


def rows_of(out, program):
    """{command: row} of league.json, where it is of the program's suite: figures are the same on every machine."""
    path = f"{out}/league.json"
    if not os.path.exists(path) or option("again", "off") == "on":
        return {}
    done = subprocess.run([program, "score", "--json"], stdout=subprocess.PIPE, text=True, check=True)
    version = json.loads(done.stdout)["version"]
    with open(path, encoding="utf-8") as file:
        return {row["command"]: row for row in json.load(file)["rows"] if row["version"] == version}


def train(out):
    """All rows. One that was trained in another build of the same suite is the same."""
    program, facts, passed = path_of("halfulp", "build/halfulp"), about(), []
    known, wanted = rows_of(out, program), read_list(path_of("list", "docs/league/formats.txt"))
    asked = [(heading, words, f"halfulp score {shlex.join(words)}") for heading, words in wanted]
    rows = [{**known[command], "heading": heading} for heading, _, command in asked if command in known]
    for number, (heading, words, command) in enumerate(asked, 1):
        if command in known:
            continue
        print(f"row {number} of {len(wanted)}: {shlex.join(words)}", file=sys.stderr, flush=True)
        made = score(program, words)
        if made is None:
            passed.append(shlex.join(words))
            continue
        if made["score"] is None or made["format"] in [row["format"] for row in rows]:
            continue
        rows.append({"heading": heading, "command": command, **made})
        keep(out, facts, rows, passed)
    return keep(out, facts, rows, passed)


# ---- Pages ----

def figure(value, error):
    return "-" if value is None else f"{value:.1f}" if error is None else f"{value:.1f} ± {error:.1f}"


def c_text(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def write_list(league):
    """The rows as the program has them."""
    lines = ["/* Rows of the league as they were measured: X(name, score, standard error, bits of a number), the",
             " * best first. Written by tools/league.py; not by hand. */",
             "/* clang-format off */"]
    lines += [f"X({c_text(row['format'])}, {row['score']!r}, {row['standard_error']!r}, {row['bits']!r})"
              for row in league["rows"]]
    write(os.path.join(ROOT, "src/study/sweep/league.list"), "\n".join(lines) + "\n")


def write_csv(out, league):
    names = [part["name"] for part in league["rows"][0]["networks"]]
    with open(f"{out}/league.csv", "w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["place", "format", "score", "standard_error", "bits", "front"]
                       + [f"{name}{end}" for name in names for end in ("", "_error")])
        for place, row in enumerate(league["rows"], 1):
            parts = [part[key] for part in row["networks"] for key in ("score", "standard_error")]
            table.writerow([place, row["format"], row["score"], row["standard_error"], row["bits"],
                            int(row["front"]), *parts])


SCRIPT = """<script>
document.querySelectorAll("#league th").forEach(function (head, column) {
  head.style.cursor = "pointer";
  head.addEventListener("click", function () {
    var body = document.querySelector("#league tbody"), rows = Array.from(body.rows), up = head.dataset.up !== "1";
    head.dataset.up = up ? "1" : "";
    function value(row) {
      var text = row.cells[column].textContent, n = parseFloat(text);
      return isNaN(n) ? text : n;
    }
    rows.sort(function (a, b) { var x = value(a), y = value(b); return (x < y ? -1 : x > y ? 1 : 0) * (up ? 1 : -1); });
    rows.forEach(function (row) { body.appendChild(row); });
  });
});
</script>"""


def cells_of(tag, cells):
    """A row on two lines: what it is, and its networks."""
    made = [f"<{tag}>{cell}</{tag}>" for cell in cells]
    return ["<tr>" + "".join(made[:4]), "".join(made[4:]) + "</tr>"]


def table(league):
    names = [part["name"] for part in league["rows"][0]["networks"]]
    heads = ["place", "format", "score", "bits", *names]
    lines = ['<table id="league">', "<thead>", *cells_of("th", heads), "</thead>",
             "<tbody>"]
    for place, row in enumerate(league["rows"], 1):
        star = " *" if row["front"] else ""
        cells = [str(place), f"<code>{html.escape(row['format'])}</code>{star}",
                 figure(row["score"], row["standard_error"]), f"{row['bits']:.2f}"]
        cells += [figure(part["score"], part["standard_error"]) for part in row["networks"]]
        lines += cells_of("td", cells)
    return "\n".join([*lines, "</tbody>", "</table>", SCRIPT])


def verdict(first, second):
    """At least as good, by twice the standard error of the difference."""
    away = first["score"] - second["score"]
    error = math.hypot(first["standard_error"] or 0, second["standard_error"] or 0)
    word = "does not hold" if away < -2 * error - 1 else "holds" if away > 2 * error else "not separated"
    return f"{figure(first['score'], first['standard_error'])} and " \
           f"{figure(second['score'], second['standard_error'])}: {word}"


def claims(league):
    rows = {row["format"]: row for row in league["rows"]}
    lines = ["| paper | claim | rows | here |", "|---|---|---|---|"]
    for paper, claim, first, second in CLAIMS:
        if first in rows and second in rows:
            lines.append(f"| {paper} | {claim} | `{first}`, `{second}` | {verdict(rows[first], rows[second])} |")
    return "\n".join(lines)


def failures(league):
    lines = []
    for row in league["rows"]:
        broken = [part for part in row["networks"] if part["failure"]]
        if broken:
            first = max(broken, key=lambda part: not part["failure"].startswith("no tensor died"))
            names = ", ".join(part["name"] for part in broken)
            line = f"- `{row['format']}` ({names}): {first['name']}: {first['failure']}"
            lines.append(textwrap.fill(line, 120, subsequent_indent="  ", break_on_hyphens=False))
    return "\n".join(lines)


def missing(league):
    """What the list has beyond the rows."""
    made = [row["command"] for row in league["rows"]] + [f"halfulp score {words}" for words in league["unknown"]]
    wanted = [f"halfulp score {shlex.join(words)}" for _, words in read_list(path_of("list", "docs/league/formats.txt"))]
    left = len(set(wanted) - set(made))
    return f" (of [the list](formats.txt) {left} are still to be trained)" if left else ""


def write_page(out, league):
    picture = "![score against bits](league.svg)\n\n" if os.path.exists(f"{out}/league.svg") else ""
    write(f"{out}/index.md", f"""# League of formats

{len(league['rows'])} formats, precisions and accumulators{missing(league)} by the suite of
[`halfulp score`](../how-to/score-a-format.md), version {league['version']}: 100 is float32, 0 is guessing. ± is the
standard error over three seeds. Bits are those of a number, scales of blocks among them. A click on a heading sorts; a
star marks rows that nothing beats in both score and bits. Figures are the same on every machine; these were made on
{league['date']} at commit {league['commit']} ({league['machine']}) by `tools/league.py`. The same as [CSV](league.csv) and [JSON](league.json). How far these ranks
agree with larger trainings is [measured](../results/score.md#how-well-its-ranks-agree-with-larger-trainings).

{picture}{table(league)}

## What the papers say

*Holds*: at least as good by more than twice the standard error of the difference; *not separated*: within it, or within
a point; *does not hold*: behind by more.

{claims(league)}

## What broke

Networks that kept less than a tenth of float32's gain, and the first line of `why` of one of them.

{failures(league)}
""")


def draw(out, league):
    """The program draws the rows that it was built with."""
    program = path_of("halfulp", "build/halfulp")
    done = subprocess.run([program, "score", "--json"], stdout=subprocess.PIPE, text=True, check=False)
    built = json.loads(done.stdout)["league"] if done.returncode == 0 else []
    if [row["format"] for row in built] != [row["format"] for row in league["rows"]]:
        print("the program has other rows: build it, then tools/league.py only=pages draws them", file=sys.stderr)
        return
    subprocess.run([program, "score", f"out={out}/league.svg"], stdout=subprocess.DEVNULL, check=True)


def show_page():
    """The page stands in the site's contents from its first day on."""
    path = os.path.join(ROOT, "mkdocs.yml")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    line, before = "      - league/index.md\n", "      - results/trainings.md\n"
    if line not in text:
        write(path, text.replace(before, line + before))


def main():
    out = path_of("out", "docs/league")
    if option("only", "") == "pages":
        with open(f"{out}/league.json", encoding="utf-8") as file:
            league = json.load(file)
    else:
        league = train(out)
    if not league["rows"]:
        sys.exit("no row has a score")
    write_list(league)
    draw(out, league)
    write_csv(out, league)
    write_page(out, league)
    show_page()


if __name__ == "__main__":
    main()
