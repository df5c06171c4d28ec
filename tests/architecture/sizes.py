#!/usr/bin/env python3
"""Checks that the sources stay readable. Usage: sizes.py ROOT

A file of src/ or include/ has at most 350 lines, a function at most 80, and a class at most 40 member functions. What
is better whole is listed below, with the reason. The check relies on the formatter.
"""

import pathlib
import re
import sys

FILE_LINES_MAX = 350
FUNCTION_LINES_MAX = 80
MEMBER_FUNCTIONS_MAX = 40

# What is better whole, and why.
EXEMPT = {
    # The rules under one mutex. The files core_*.cc are its subjects; each works on the state of the others.
    "src/checkout/core.h: CheckoutCore",
    # Half of them read one value of the state, in one line.
    "src/machine/machine.h: Machine",
    # It puts the parts of a node together: a third of them hand a call on, a third hear what a part reports.
    "src/node/node.h: Node",
}

SCOPE = re.compile(r"\s*(?:inline )?(?:namespace|extern|(?:template <.*> )?(?:class|struct|union|enum))\b")
TYPE = re.compile(r"( *)(?:template <.*> )?(?:class|struct) (?:alignas\(\w+\) )?(\w+)[^;()]*\{$")
LITERAL = re.compile(r'R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|//[^\n]*|/\*.*?\*/', re.DOTALL)
# Brackets and what is in them, so that the commas and parentheses of types do not count.
NESTED = re.compile(r"<[^<>]*>|\[[^\[\]]*\]")


def code_of(text):
    """The text without comments and literals, on the same lines."""
    return LITERAL.sub(lambda found: "\n" * found[0].count("\n"), text).splitlines()


def blocks_of(lines):
    """First and last line of each block that is no scope and no list of values."""
    opened = []
    for number, line in enumerate(lines):
        for at, brace in enumerate(line):
            if brace == "}" and opened:
                first = opened.pop()
                if first is not None:
                    yield first, number
            if brace == "{":
                head = "".join(lines[max(0, number - 4):number]) + line
                counts = not line[at + 1:].strip() and "(" in head and not SCOPE.match(line) and line[:at].strip()[-1:] != "="
                opened.append(number if counts else None)


def member_functions_of(lines):
    """Each type with the number of functions that it declares."""
    for number, line in enumerate(lines):
        found = TYPE.match(line)
        if not found:
            continue
        indent, name, count, starts = len(found[1]) + 2, found[2], 0, True
        for member in lines[number + 1:]:
            code = member.split("//")[0].rstrip()
            if code.startswith(found[1] + "}"):
                break
            at = len(code) - len(code.lstrip(" "))
            if starts and at == indent and not code.strip().startswith(("using", "friend", "static_assert", "}", "#")):
                while NESTED.search(code):
                    code = NESTED.sub("", code)
                head = code.split("=")[0].split("{")[0]
                count += "(" in head and not re.search(r"\w_\(", head)
            starts = not code or code.endswith((";", "{", "}", ":", ","))
        yield name, count


def errors_of(path, name):
    lines = path.read_text(encoding="utf-8").splitlines()
    if len(lines) > FILE_LINES_MAX:
        yield name, f"{len(lines)} lines, more than {FILE_LINES_MAX}"
    for first, last in blocks_of(code_of("\n".join(lines))):
        size = last - first + 1
        if size > FUNCTION_LINES_MAX:
            yield f"{name}:{first + 1}", f"a function of {size} lines, more than {FUNCTION_LINES_MAX}"
    for type_name, count in member_functions_of(lines):
        if count > MEMBER_FUNCTIONS_MAX:
            yield f"{name}: {type_name}", f"{count} member functions, more than {MEMBER_FUNCTIONS_MAX}"


def main(arguments):
    root = pathlib.Path(arguments[0])
    files = sorted(path for folder in ("include", "src") for path in (root / folder).rglob("*")
                   if path.suffix in (".h", ".hpp", ".cc"))
    if not files:
        print(f"{root}: no sources found")
        return 1
    errors = [(where, what) for path in files for where, what in errors_of(path, str(path.relative_to(root)))
              if where not in EXEMPT]
    for where, what in errors:
        print(f"{where}: {what}")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
