"""What is told of each class: in the result, by eval in both forms, and in the report."""
import json
import re

import program


def mean(values):
    total = 0.0
    for value in values:
        total += value
    return total / len(values)


def told(checks, cwd, made, means, names):
    """means: the metric of the run `run` that each key of a class has the mean in, over the classes that are there."""
    rows = made["test_classes"]
    checks.same([row["name"] for row in rows], names, "names of the classes")
    for key, metric in means.items():
        checks.same(mean([row[key] for row in rows if row[key] is not None]), made[metric], metric)
    code, out, err = program.call("eval", "run", "--json", cwd=cwd)
    checks.same((code, json.loads(out or "{}").get("test_classes")), (0, rows), f"eval agrees: {err}")
    code, out, err = program.call("eval", "run", cwd=cwd)
    checks.same(code, 0, err)
    lines = [line.split() for line in out.splitlines()[3:]]
    first = next(iter(means))
    shown = ["-" if row[first] is None else f"{100 * row[first]:.2f}" for row in rows]
    checks.same([(line[0], line[1]) for line in lines], list(zip(names, shown)), "the table of eval")
    with open(f"{cwd}/run/report.html") as file:
        page = file.read()
    checks.that('id="classes"' in page, "the report shows classes")
    for name in names:
        cell = re.search(f'<td>(<span class="swatch" style="background:#[0-9a-f]*"></span>){name}</td>', page)
        checks.that(cell and f"<li>{cell[1]}{name}</li>" in page, f"{name}: one colour in table and legend")
