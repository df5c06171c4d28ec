#!/usr/bin/env python3
"""Checks that what the documents name exists. Usage: documents.py ROOT

  1. A path that begins with a folder of ours exists. It may have wildcards. Placeholders in capitals (src/log/NAME/) and
     lines that say "(to come)" do not count.
  2. A source file that ARCHITECTURE.md or CONTRIBUTING.md names without its folder exists somewhere.
  3. `Class::function` (`path`): that file has the function.
  4. A link leads to a file, and to a heading of it.

The changelog is about the past, so of it only the links are checked.
"""

import pathlib
import re
import sys

FOLDERS = ("bench", "cmake", "deploy", "docs", "examples", "include", "models", "proto", "src", "tests", "tools")
FOR_DEVELOPERS = ("ARCHITECTURE.md", "CONTRIBUTING.md")

PATH = re.compile(rf"(?<![\w./-])(?:{'|'.join(FOLDERS)})/[\w./*-]*")
SOURCE = re.compile(r"(?<![\w.*/-])(?:\w+/)*\w+\.(?:h|hpp|cc|py|proto|pml)\b")
FUNCTION = re.compile(r"`(?:\w+::)+(\w+)(?:\([^`]*\))?`\s+\(`([^`]+)`")
LINK = re.compile(r"\]\(([\w./-]*)(?:#([\w-]+))?\)")
HEADING = re.compile(r"^#+ +(.*)$", re.MULTILINE)
CODE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def anchors_of(text):
    """The names that links to headings use."""
    headings = HEADING.findall(CODE.sub("", text))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def sources_of(root):
    files = (path.relative_to(root) for folder in FOLDERS for path in (root / folder).rglob("*") if path.is_file())
    return ["/" + file.as_posix() for file in files]


def check(root, document, sources):
    text = document.read_text(encoding="utf-8")
    errors = []
    for target, anchor in LINK.findall(CODE.sub("", text)):
        if not target and not anchor:
            continue
        there = document.parent / target if target else document
        if not there.exists():
            errors.append(f"the link to {target} leads nowhere")
        elif anchor and anchor not in anchors_of(there.read_text(encoding="utf-8")):
            errors.append(f"{target or 'it'} has no heading #{anchor}")
    if document.name == "CHANGELOG.md":
        return errors
    for line in text.splitlines():
        if "(to come)" in line:
            continue
        paths = [path.rstrip(".-") for path in PATH.findall(line)]
        errors += [f"{path} does not exist" for path in paths if "NAME" not in path and not any(root.glob(path))]
        if document.name in FOR_DEVELOPERS:
            errors += [f"no file {name}" for name in SOURCE.findall(line)
                       if "NAME" not in name and not any(source.endswith("/" + name) for source in sources)]
    for function, path in FUNCTION.findall(text):
        if (root / path).is_file() and not re.search(rf"\b{function}\(", (root / path).read_text(encoding="utf-8")):
            errors.append(f"{path} has no {function}()")
    return errors


def main(arguments):
    root = pathlib.Path(arguments[0])
    sources = sources_of(root)
    documents = sorted(root.glob("*.md")) + sorted((root / "docs").rglob("*.md")) + sorted((root / "models").glob("*.md"))
    errors = [f"{document.relative_to(root)}: {error}"
              for document in documents for error in check(root, document, sources)]
    for error in errors:
        print(error)
    print(f"{len(documents)} documents, {len(errors)} errors")
    return 1 if errors or not documents else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
