#!/usr/bin/env python3
"""Shows that documents.py finds each kind of error: each case is a small tree with one document."""

import contextlib
import io
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import documents  # noqa: E402

TREE = {
    "src/a/box.h": "class Box;\n",
    "src/a/box.cc": "void Box::open(int lid) {}\n",
    "docs/boxes.md": "# All boxes\n\n## What's inside?\n",
}


def check(text, name="ARCHITECTURE.md"):
    """The exit code for this document, and what was printed."""
    with tempfile.TemporaryDirectory() as root, contextlib.redirect_stdout(io.StringIO()) as output:
        for path, content in (TREE | {name: text}).items():
            path = pathlib.Path(root) / path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
        return documents.main([root]), output.getvalue()


class Documents(unittest.TestCase):
    def test_accepts_what_exists(self):
        for text in ("See `src/a/`, src/a/box.h.", "`src/a/box.*`", "`box.cc`, and a/box.h", "`Box::open` (`src/a/box.cc`)",
                     "`Box::open(lid)`\n(`src/a/box.cc`) opens it", "[here](docs/boxes.md#whats-inside)", "[a](#b)\n# B",
                     "`src/log/NAME/x.cc`", "`src/web/` (to come)", "https://x.org/docs/none.html"):
            code, output = check(text)
            self.assertEqual(code, 0, text + ": " + output)

    def test_finds_what_does_not(self):
        for text, expected in (("`src/a/lid.h`", "src/a/lid.h does not exist"), ("src/b/", "src/b/ does not exist"),
                               ("`src/a/*.py`", "src/a/*.py does not exist"), ("`lid.cc`", "no file lid.cc"),
                               ("b/box.h", "no file b/box.h"),
                               ("`Box::close` (`src/a/box.cc`)", "src/a/box.cc has no close()"),
                               ("[here](docs/none.md)", "the link to docs/none.md leads nowhere"),
                               ("[here](docs/boxes.md#some)", "docs/boxes.md has no heading #some"),
                               ("[here](#some)", "it has no heading #some")):
            code, output = check(text)
            self.assertEqual(code, 1, text)
            self.assertIn("ARCHITECTURE.md: " + expected, output)

    def test_the_changelog_may_name_what_is_gone(self):
        self.assertEqual(check("`src/b/`", "CHANGELOG.md")[0], 0)
        self.assertEqual(check("[here](docs/none.md)", "CHANGELOG.md")[0], 1)

    def test_a_guide_may_name_files_of_its_readers(self):
        self.assertEqual(check("`main.cc`", "README.md")[0], 0)

    def test_a_tree_without_documents_is_an_error(self):
        with tempfile.TemporaryDirectory() as root, contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(documents.main([root]), 1)


if __name__ == "__main__":
    unittest.main()
