#!/usr/bin/env python3
"""Shows that one_definition.py finds every duplicate type, and reports nothing else."""

import contextlib
import io
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import one_definition  # noqa: E402


def check(files):
    """The exit code over a tree of these files, and what was printed."""
    with tempfile.TemporaryDirectory() as root, contextlib.redirect_stdout(io.StringIO()) as output:
        for name, text in files.items():
            path = pathlib.Path(root) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return one_definition.main([root]), output.getvalue()


def within(space, text):
    return f"namespace {space} {{\n\n{text}\n\n}}  // namespace {space}\n"


class OneDefinition(unittest.TestCase):
    def test_finds_a_name_that_two_modules_have(self):
        for text in ("class Box {", "class Box final {", "struct Box final : public Base {", "struct alignas(64) Box {",
                     "enum class Box : int {", "class Box final : public Base,"):
            code, output = check({"src/a/box.h": within("tenure", text), "src/b/box.cc": within("tenure", "struct Box {")})
            self.assertEqual(code, 1, text)
            self.assertIn("tenure::Box is defined in src/a/box.h and src/b/box.cc", output)

    def test_accepts_what_is_apart(self):
        for text in (within("tenure::a", "class Box {"), "namespace tenure {\n" + within("", "class Box {") +
                     "}  // namespace tenure\n", within("tenure", "class Box;"), within("tenure", "  class Box {"),
                     within("tenure", "class Boxes {")):
            code, output = check({"src/a/box.h": within("tenure", "class Box {"), "src/b/box.h": text})
            self.assertEqual(code, 0, output)

    def test_refuses_an_empty_tree(self):
        self.assertEqual(check({})[0], 1)


if __name__ == "__main__":
    unittest.main()
