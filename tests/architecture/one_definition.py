#!/usr/bin/env python3
"""Checks that no two files define a type of the same name. Usage: one_definition.py ROOT

If two modules have different classes with the same name, a program that links both breaks: the linker silently keeps one
of each pair of inline functions. Types in an anonymous namespace, or within another type, do not count. The script relies
on the formatter: namespaces and their types begin in the first column.
"""

import collections
import pathlib
import re
import sys

NAMESPACE = re.compile(r"(?:inline )?namespace ([\w:]*) ?\{")
CLOSED = re.compile(r"\}  // namespace")
TYPE = re.compile(r"(?:class|struct|union|enum class|enum) (?:alignas\(\w+\) )?(\w+)(?: final)?(?: \{| :)")


def types_of(text):
    """The names of the types that a file shares with others, in their namespaces."""
    spaces = []
    for line in text.splitlines():
        if opened := NAMESPACE.match(line):
            spaces.append(opened[1])
        elif CLOSED.match(line) and spaces:
            spaces.pop()
        elif (found := TYPE.match(line)) and all(spaces):
            yield "::".join([*spaces, found[1]])


def main(arguments):
    root = pathlib.Path(arguments[0])
    files = sorted(path for folder in ("include", "src") for path in (root / folder).rglob("*")
                   if path.suffix in (".h", ".hpp", ".cc"))
    places = collections.defaultdict(list)
    for path in files:
        for name in types_of(path.read_text(encoding="utf-8")):
            places[name].append(str(path.relative_to(root)))
    if not places:
        print(f"{root}: no types found")
        return 1
    several = {name: where for name, where in sorted(places.items()) if len(where) > 1}
    for name, where in several.items():
        print(f"{name} is defined in {' and '.join(where)}")
    return 1 if several else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
