#!/usr/bin/env python3
"""Checks that all text is printed through src/base/output.h, which makes it printable. Usage: text_output.py ROOT

Keys, names, errors and the output of programs may contain escape sequences, forged lines and hidden characters. Three
rules, each stated as a table below:

  1. Nothing else writes to standard output or standard error, or names them (MAY_NAME).
  2. Bytes are written unchanged only if they are printable already, or have to be exact (EXACT).
  3. Only one place writes sequences that steer a terminal, next to the code that makes the rest printable (MAY_STEER).
"""

import pathlib
import re
import sys

# A file that names a way to print, what it names, and why that is no text from elsewhere.
MAY_NAME = {
    "src/base/output.cc": {"STDOUT_FILENO", "STDERR_FILENO"},  # the one way out
    "src/base/assert.cc": {"fprintf", "stderr"},  # our own expressions and file names; memory may be damaged
    "src/cli/output.cc": {"STDOUT_FILENO", "STDERR_FILENO"},  # by write_exact, below
    "src/orders/child.cc": {"STDOUT_FILENO", "STDERR_FILENO"},  # those of a program that it starts
    "src/orders/run_order.cc": {"STDOUT_FILENO"},  # a pipe to the worker
    "src/cli/bench/work_process.cc": {"STDOUT_FILENO"},  # of a child, for dup2
    "src/demo/spawn.cc": {"STDOUT_FILENO", "STDERR_FILENO"},  # of a child, for dup2
    "src/demo/terminal.cc": {"STDOUT_FILENO"},  # rows, which demo/row.cc has made printable
    "src/guard/guard.cc": {"STDOUT_FILENO"},  # of the guard, for dup2
    "src/process/child_processes.cc": {"STDERR_FILENO"},  # handed to worker programs, where they have no other
}
NAMES = re.compile(
    r"(?<![\w.>])(?:std::|::)?((?:stdout|stderr|STDOUT_FILENO|STDERR_FILENO|cout|cerr|clog|wcout|wcerr|osyncstream"
    r"|v?f?printf|v?dprintf|f?puts|putchar|fputc|putc|fwrite|perror|psignal|psiginfo|v?syslog|spdlog)(?!\w)"
    r"|(?:write|writev|send)\((?=[12],))")
# "/dev/tty" and its like are ways around the table.
PATHS = re.compile(r'"(/dev/(?:tty|stdout|stderr|fd)[^"]*)"')

# A function that prints bytes as they are, and who may call it.
EXACT = {
    "write_exact": {"src/base/output.h", "src/base/output.cc", "src/cli/output.cc",
                    "src/orders/run_order.cc"},
    "print_data": {"src/cli/output.h", "src/cli/output.cc", "src/cli/dispatch.cc", "src/cli/checkout.cc",
                   "src/cli/orders.cc"},
}

MAY_STEER = {"src/demo/row.cc", "src/demo/terminal.cc"}
SEQUENCE = re.compile(r'"(?:\\.|[^"\\\n])*\\(?:x1[bB]|0?33|e)(?:\\.|[^"\\\n])*"')

COMMENT_OR_STRING = re.compile(r'''("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])')|//[^\n]*|/\*.*?\*/''', re.DOTALL)


def without_comments(text):
    return COMMENT_OR_STRING.sub(lambda match: match[1] or " ", text)


def without_strings(text):
    return COMMENT_OR_STRING.sub('""', text)


def errors_of(name, text):
    for path in PATHS.findall(without_comments(text)):
        yield f"{name}: opens {path}"
    code = without_strings(text)
    found = {each.rstrip("(") for each in NAMES.findall(code)}
    for named in sorted(found - MAY_NAME.get(name, set())):
        yield f"{name}: names {named}: print by base/output.h"
    # A row that is left behind would let whatever comes next print what it likes.
    for named in sorted(MAY_NAME.get(name, set()) - found):
        yield f"{name}: does not name {named} any more: take it out of the table"
    for function, callers in EXACT.items():
        called = re.search(rf"\b{function}\(", code)
        if called and name not in callers:
            yield f"{name}: calls {function}, which makes nothing printable"
        if not called and name in callers:
            yield f"{name}: does not call {function} any more: take it out of the table"
    if SEQUENCE.search(without_comments(text)) and name not in MAY_STEER:
        yield f"{name}: has an escape sequence of its own"


def main(arguments):
    root = pathlib.Path(arguments[0])
    files = sorted(path for folder in ("include", "src") for path in (root / folder).rglob("*")
                   if path.suffix in (".h", ".hpp", ".cc"))
    errors = [error for path in files for error in errors_of(str(path.relative_to(root)),
                                                             path.read_text(encoding="utf-8"))]
    for error in errors:
        print(error)
    print(f"{len(files)} files, {len(errors)} errors")
    return 1 if errors or not files else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
