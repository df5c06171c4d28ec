#!/usr/bin/env python3
"""Checks what the sources include. Usage: include_graph.py ROOT

Four rules, each stated as a table below:

  1. Dependencies between the folders of src/ point one way (MAY_INCLUDE).
  2. The pure modules use no clock, I/O, thread, randomness, or container without a fixed order, directly or through
     any header of ours (PURE_MODULES, IMPURE): every node must compute the same state from the same log.
  3. The public headers include the standard library and each other, nothing else.
  4. Checkout pools need no log (CHECKOUT_MODULES, LOG_MODULES), whatever the first table allows.

An include that cannot be resolved is an error as well, because it could hide anything. Conditional includes count.
"""

import pathlib
import re
import sys

# The generated protobuf headers are the module `proto`, the public ones `public`; every other name is a folder of src/.
MAY_INCLUDE = {
    "public": set(),
    "base": {"public"},
    "assign": {"base", "public"},
    "net": {"base", "public"},
    "log": {"net", "base", "public"},
    "source": {"log", "net", "base", "public"},
    "stream": {"source", "log", "net", "base", "public"},
    "machine": {"assign", "base", "proto", "public"},
    "node": {"machine", "assign", "log", "base", "proto", "public"},
    "feeder": {"source", "node", "machine", "assign", "log", "net", "base", "proto", "public"},
    "guard": {"base", "public"},
    "exec": {"guard", "node", "machine", "log", "base", "proto", "public"},
    "checkout": {"base", "public"},
    "process": {"checkout", "guard", "net", "base", "public"},
    "remote": {"process", "checkout", "net", "base", "public"},
    "pool": {"feeder", "source", "exec", "guard", "node", "machine", "assign", "log", "base", "proto", "public"},
    "http": {"render", "pool", "source", "net", "exec", "guard", "checkout", "node", "machine", "assign", "log", "base", "proto", "public"},
    "render": {"machine", "base", "proto", "public"},
    "orders": {"render", "pool", "source", "net", "exec", "guard", "node", "machine", "assign", "log", "base", "proto", "public"},
    "demo": {"render", "pool", "exec", "node", "machine", "assign", "log", "base", "public"},
    "cli": {"demo", "orders", "http", "render", "pool", "stream", "source", "remote", "process", "net", "exec", "guard", "checkout", "node", "machine", "assign", "log", "base", "proto", "public"},
}

PURE_MODULES = {"machine", "assign"}

# What a program with a checkout pool links, and what it does not. tests/remote/alone.cc shows it for the objects.
CHECKOUT_MODULES = {"checkout", "process", "remote", "guard", "net"}
LOG_MODULES = {"log", "source", "stream", "feeder", "node", "machine", "exec", "pool", "proto"}

IMPURE = {
    "clock": ["chrono", "ctime", "time.h", "sys/time.h", "sys/timerfd.h", "base/clock.h", "base/backoff.h"],
    "thread": ["thread", "mutex", "shared_mutex", "condition_variable", "atomic", "future", "semaphore", "latch",
               "barrier", "stop_token", "pthread.h", "base/loop.h", "base/thread_loop.h"],
    "randomness": ["random", "base/entropy.h"],
    "I/O": ["iostream", "istream", "ostream", "fstream", "sstream", "syncstream", "cstdio", "stdio.h", "filesystem",
            "print", "unistd.h", "fcntl.h", "poll.h", "signal.h", "csignal", "sqlite3.h"],
    "environment": ["locale", "clocale"],
    "unordered container": ["unordered_map", "unordered_set"],
}
IMPURE_PREFIXES = {"sys/": "I/O", "boost/": "library", "spdlog/": "I/O"}
IMPURE_REASON = {header: reason for reason, headers in IMPURE.items() for header in headers}

# What <cstdlib> and <functional> let in. std::hash differs between standard libraries.
IMPURE_CALLS = re.compile(r"\b(std::hash\b|(?:std::)?(?:getenv|rand|srand|system)\s*\()")

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:<([^>\n]+)>|"([^"\n]+)"|(\S[^\n]*))', re.MULTILINE)
# String literals are matched first, so that a "//" in one is no comment.
COMMENT_OR_STRING = re.compile(r'("(?:\\.|[^"\\\n])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)


class Tree:
    """The sources below one root, and what is wrong with them."""

    def __init__(self, root):
        self.root = pathlib.Path(root).resolve()
        self.includes = {}  # path -> [(name, resolved path or None, angled)]
        self.errors = []

    def check(self):
        for folder in ("src", "include"):
            for path in sorted((self.root / folder).rglob("*")):
                if path.suffix in (".h", ".hpp", ".cc"):
                    self.check_file(path)
        return self.errors

    def check_file(self, path):
        module = self.module_of(path)
        if module not in MAY_INCLUDE:
            self.error(path, f"module '{module}' is not in the table of {pathlib.Path(__file__).name}")
            return
        for name, target, angled in self.includes_of(path):
            self.check_edge(path, module, name, target, angled)
        if module in PURE_MODULES:
            self.check_purity(path)
        if module in CHECKOUT_MODULES:
            self.check_needs_no_log(path)

    def check_edge(self, path, module, name, target, angled):
        if name.endswith(".pb.h"):
            other = "proto"
        elif target is not None:
            other = self.module_of(target)
        elif angled:
            if module == "public" and ("/" in name or name.endswith((".h", ".hpp"))):
                self.error(path, f"public header includes <{name}>: only the standard library is allowed")
            return
        else:
            self.error(path, f'"{name}" is no header of ours; third-party headers are included with <>')
            return
        if other != module and other not in MAY_INCLUDE[module]:
            self.error(path, f"{module} must not include {other} ({name})")

    def check_purity(self, path):
        call = IMPURE_CALLS.search(self.code_of(path))
        if call:
            self.error(path, f"pure module uses {call.group(1).rstrip('( ')}")
        # Depth first over our own headers; `trail` says by which of them an impure one was reached.
        seen, stack = set(), [(path, [])]
        while stack:
            current, trail = stack.pop()
            for name, target, _ in self.includes_of(current):
                reason = impurity(name)
                if reason:
                    way = "".join(f" through {step}" for step in trail)
                    self.error(path, f"pure module includes {name} ({reason}){way}")
                elif target is not None and target not in seen:
                    seen.add(target)
                    stack.append((target, trail + [name]))

    def check_needs_no_log(self, path):
        seen, stack = set(), [(path, [])]
        while stack:
            current, trail = stack.pop()
            for name, target, _ in self.includes_of(current):
                module = "proto" if name.endswith(".pb.h") else target and self.module_of(target)
                if module in LOG_MODULES:
                    way = "".join(f" through {step}" for step in trail)
                    self.error(path, f"checkout pools need no {module} ({name}{way})")
                elif target is not None and target not in seen:
                    seen.add(target)
                    stack.append((target, trail + [name]))

    def includes_of(self, path):
        if path not in self.includes:
            found = []
            for angled, quoted, other in INCLUDE.findall(self.code_of(path)):
                if other:
                    self.error(path, f"include by macro cannot be followed: {other.strip()}")
                    continue
                found.append((angled or quoted, self.resolve(path, angled or quoted, bool(angled)), bool(angled)))
            self.includes[path] = found
        return self.includes[path]

    def resolve(self, path, name, angled):
        folders = [self.root / "src", self.root / "include"] + ([] if angled else [path.parent])
        return next(((folder / name).resolve() for folder in folders if (folder / name).is_file()), None)

    def module_of(self, path):
        parts = path.relative_to(self.root).parts
        return "public" if parts[0] == "include" else parts[1]

    @staticmethod
    def code_of(path):
        return COMMENT_OR_STRING.sub(lambda match: match.group(1) or " ", path.read_text(encoding="utf-8"))

    def error(self, path, message):
        text = f"{path.relative_to(self.root)}: {message}"
        if text not in self.errors:
            self.errors.append(text)


def impurity(name):
    by_prefix = (reason for prefix, reason in IMPURE_PREFIXES.items() if name.startswith(prefix))
    return IMPURE_REASON.get(name) or next(by_prefix, None)


def main(arguments):
    if len(arguments) != 1:
        sys.exit("usage: include_graph.py ROOT")
    tree = Tree(arguments[0])
    errors = tree.check()
    for error in errors:
        print(error)
    if not tree.includes:
        errors.append("nothing found")
        print(f"no sources below {tree.root}")
    print(f"{len(tree.includes)} files, {len(errors)} errors")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
