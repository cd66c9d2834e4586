"""Hooks of mkdocs: files outside of docs/ that the pages link to, Doxygen's pages of the public headers, lists of headers,
notebooks.

A link from a page to a file of the repository works where the repository is read. In the site it leads to a page that
shows the file, or to Doxygen's page of the header.
"""
import os
import re

from mkdocs.structure.files import File
from nbconvert import MarkdownExporter

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
API = os.path.join(ROOT, "build", "api", "html")
NOTEBOOKS = ("docs/start/python.ipynb",)
LINK = re.compile(r"(\]\()([^)\s#]+)((?:#[^)\s]*)?\))")
LANGUAGES = {".c": "c", ".h": "c", ".yaml": "yaml", ".py": "python", ".json": "json"}
origins = {}  # page of the site -> the file of the repository that it shows


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def targets(text, origin):
    """Paths in the repository that a page links to."""
    for _, path, _ in LINK.findall(text):
        if "://" not in path and not path.startswith("mailto:"):
            yield os.path.normpath(os.path.join(os.path.dirname(origin), path))


def shown(path):
    """The page of the site that stands for a file of the repository."""
    if path in NOTEBOOKS:
        return path[len("docs/"):-len(".ipynb")] + ".md"
    if path.startswith("docs/"):
        return path[len("docs/"):]
    if re.fullmatch(r"include/halfulp/\w+\.h", path):
        return f"api/{os.path.basename(path)[:-2]}_8h.html"
    return f"files/{path}" if path.endswith(".md") else f"files/{path}.md"


def page_of(path):
    text = read(path)
    if path.endswith(".md"):
        return text
    return f"# {os.path.basename(path)}\n\nThe file `{path}`.\n\n```{LANGUAGES.get(os.path.splitext(path)[1], '')}\n{text}```\n"


def add_notebook(files, config, path):
    """A notebook as a page, its pictures as files beside it."""
    name = shown(path)
    text, made = MarkdownExporter().from_filename(os.path.join(ROOT, path))
    folder = os.path.dirname(name)
    for picture, content in made["outputs"].items():
        files.append(File.generated(config, f"{folder}/{picture}", content=content))
    origins[name] = path
    text = re.sub(r"(?m)^(<table>.*</svg>)$", r"<div>\1</div>", text)  # else Markdown reads within the picture
    files.append(File.generated(config, name, content=text))


def on_files(files, config):
    origins.clear()
    waiting = [f"docs/{file.src_uri}" for file in files.documentation_pages()]
    while waiting:
        origin = waiting.pop()
        for path in targets(read(origin), origin):
            name = shown(path)
            if path.startswith(("docs/", "include/")) or name in origins or not os.path.isfile(os.path.join(ROOT, path)):
                continue
            origins[name] = path
            files.append(File.generated(config, name, content=page_of(path)))
            if path.endswith(".md"):
                waiting.append(path)
    for path in NOTEBOOKS:
        add_notebook(files, config, path)
    for name in sorted(os.listdir(API)) if os.path.isdir(API) else ():
        if name.endswith(".html"):
            with open(os.path.join(API, name), encoding="utf-8") as file:
                text = file.read().replace('<div id="projectname">halfulp',
                                           '<div id="projectname"><a href="../index.html">halfulp</a>')
            files.append(File.generated(config, f"api/{name}", content=text))
        elif os.path.isfile(os.path.join(API, name)):
            files.append(File.generated(config, f"api/{name}", abs_src_path=os.path.join(API, name)))
    return files


def headers(wing, room):
    """What the headers of a room declare, as a list: the first sentence of each."""
    folder = os.path.join(ROOT, "src", wing, room)
    for base, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            if name.endswith(".h"):
                with open(os.path.join(base, name), encoding="utf-8") as file:
                    comment = re.match(r"(?:// .*\n)?/\* \S+ - (.*?)(?:\.$|\.\s|\n \*\n|\*/)", file.read(), re.DOTALL | re.MULTILINE)
                if comment:
                    words = re.sub(r"([*_<])", r"\\\1", re.sub(r"\s*\n \*\s*", " ", comment[1]).strip())
                    yield f"- `{os.path.relpath(os.path.join(base, name), folder)}`: {words}"


def with_headers(wing, markdown):
    """The page of a wing, each room with what its headers declare."""
    rooms = re.split(r"(?m)^(?=## `)", markdown)
    return "".join(room if not (name := re.match(r"## `(\w+)`", room)) else
                   room.rstrip() + "\n\n" + "\n".join(headers(wing, name[1])) + "\n\n" for room in rooms)


def on_page_markdown(markdown, page, **_):
    """Links by the files of the repository become links by the pages of the site."""
    name = page.file.src_uri
    wing = re.fullmatch(r"explanation/architecture/rooms-(\w+)\.md", name)
    if wing:
        markdown = with_headers(wing[1], markdown)
    origin = origins.get(name, f"docs/{name}")

    def linked(found):
        before, path, after = found.groups()
        if "://" in path or path.startswith("mailto:"):
            return found.group()
        whole = os.path.normpath(os.path.join(os.path.dirname(origin), path))
        return before + os.path.relpath(shown(whole), os.path.dirname(name) or ".") + after

    lines, fenced = [], False
    for line in markdown.split("\n"):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        lines.append(line if fenced or line.startswith("    ") else LINK.sub(linked, line))
    return "\n".join(lines)
