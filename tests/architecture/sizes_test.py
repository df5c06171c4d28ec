#!/usr/bin/env python3
"""Shows that sizes.py finds what is too large, and nothing else."""

import contextlib
import io
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import sizes  # noqa: E402


def check(text, name="src/a/box.cc"):
    """The exit code over a tree with this file, and what was printed."""
    with tempfile.TemporaryDirectory() as root, contextlib.redirect_stdout(io.StringIO()) as output:
        path = pathlib.Path(root) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return sizes.main([root]), output.getvalue()


def function(lines, indent=""):
    """A function of so many lines."""
    return "\n".join([f"{indent}void f() {{", *[f"{indent}  g();"] * (lines - 2), f"{indent}}}"]) + "\n"


def box(functions):
    """A class with so many member functions."""
    return "class Box {\n public:\n" + "  void f();\n" * functions + "};\n"


class Sizes(unittest.TestCase):
    def refuses(self, text, *expected):
        code, output = check(text)
        self.assertEqual(code, 1, output)
        for part in expected:
            self.assertIn(part, output)

    def accepts(self, text):
        code, output = check(text)
        self.assertEqual(code, 0, output)

    def test_files(self):
        self.accepts("\n" * 350)
        self.refuses("\n" * 351, "src/a/box.cc: 351 lines")

    def test_functions(self):
        self.accepts(function(80))
        self.refuses(function(81), "src/a/box.cc:1: a function of 81 lines")
        self.refuses("class Box {\n" + function(81, "  ") + "};\n", "src/a/box.cc:2: a function of 81 lines")
        self.refuses("void f(int a,\n       int b) {\n" + "  g();\n" * 80 + "}\n", "a function of 82 lines")

    def test_what_is_no_function(self):
        self.accepts("namespace tenure {\n" + "\n" * 100 + "}  // namespace tenure\n")
        self.accepts("class Box {\n" + "\n" * 100 + "};\n")
        self.accepts("constexpr int kAll[] = {\n" + "    1,\n" * 100 + "};\n")

    def test_classes(self):
        self.accepts(box(40))
        self.refuses(box(41), "src/a/box.cc: Box: 41 member functions")

    def test_what_is_no_member_function(self):
        self.accepts(box(40).replace("};", "  std::function<void(int)> next_;\n  int count_ = g();\n  using F = void();\n};"))

    def test_an_empty_tree(self):
        self.assertEqual(check("", "docs/box.cc")[0], 1)


if __name__ == "__main__":
    unittest.main()
