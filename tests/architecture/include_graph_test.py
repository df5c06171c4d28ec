#!/usr/bin/env python3
"""Shows that include_graph.py finds each kind of error: each case is a small tree with one error."""

import contextlib
import io
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import include_graph  # noqa: E402

GOOD = {
    "include/tenure/pool.h": "#include <string>\n",
    "src/base/bytes.h": "#include <string>\n",
    "src/base/clock.h": "#include <chrono>\n",
    "src/base/loop.h": '#include "base/clock.h"\n',
    "src/log/log.h": '#include "base/bytes.h"\n',
    "src/log/memory/memory_log.cc": '#include <mutex>\n\n#include "log/log.h"\n',
    "src/assign/jump.h": '#include "base/bytes.h"\n',
    "src/machine/pool.h": '#include <map>\n\n#include "assign/jump.h"\n#include "tenure/v1/record.pb.h"\n',
    "src/node/node.cc": '#include "base/loop.h"\n#include "log/log.h"\n#include "machine/pool.h"\n',
    "src/cli/main.cc": '#include <tenure/pool.h>\n\n#include "node/node.h"\n',
    "src/node/node.h": "#pragma once\n",
}


def check(**changes):
    """Runs the checker over the good tree with some files replaced; gives its exit code and output."""
    with tempfile.TemporaryDirectory() as root:
        for name, text in (GOOD | changes.get("files", {})).items():
            path = pathlib.Path(root) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return run(root)


def run(root):
    with contextlib.redirect_stdout(io.StringIO()) as output:
        return include_graph.main([root]), output.getvalue()


class IncludeGraph(unittest.TestCase):
    def refuses(self, name, text, *expected):
        code, output = check(files={name: text})
        self.assertEqual(code, 1, output)
        for part in expected:
            self.assertIn(part, output)
        self.assertIn(f"{name}: ", output)

    def accepts(self, name, text):
        code, output = check(files={name: text})
        self.assertEqual(code, 0, output)

    def test_accepts_a_good_tree(self):
        self.assertEqual(check()[0], 0, check()[1])

    def test_refuses_an_empty_tree(self):
        with tempfile.TemporaryDirectory() as root:
            self.assertEqual(run(root)[0], 1)

    def test_dependencies_point_one_way(self):
        self.refuses("src/log/up.h", '#include "machine/pool.h"\n', "log must not include machine")
        self.refuses("src/log/up.h", '#include "node/node.h"\n', "log must not include node")
        self.refuses("src/log/up.h", '#include "tenure/v1/record.pb.h"\n', "log must not include proto")
        self.refuses("src/machine/up.h", '#include "log/log.h"\n', "machine must not include log")
        self.refuses("src/machine/up.h", '#include "node/node.h"\n', "machine must not include node")
        self.refuses("src/assign/up.h", '#include "machine/pool.h"\n', "assign must not include machine")
        self.refuses("src/base/up.h", '#include "assign/jump.h"\n', "base must not include assign")
        self.refuses("src/base/up.h", '#include "../log/log.h"\n', "base must not include log")
        self.refuses("src/base/up.h", "#include <log/log.h>\n", "base must not include log")

    def test_an_unknown_module_has_to_be_placed(self):
        self.refuses("src/extra/x.h", "#include <map>\n", "'extra' is not in the table")

    def test_pure_modules_include_nothing_impure(self):
        for header in ("chrono", "thread", "mutex", "condition_variable", "atomic", "future", "random", "iostream",
                       "fstream", "cstdio", "filesystem", "unistd.h", "sys/random.h", "time.h", "ctime",
                       "unordered_map", "unordered_set"):
            self.refuses("src/machine/bad.cc", f"#include <{header}>\n", f"pure module includes {header}")
            self.refuses("src/assign/bad.cc", f"#  include <{header}>\n", f"pure module includes {header}")

    def test_pure_modules_reach_nothing_impure(self):
        self.refuses("src/machine/bad.cc", '#include "base/loop.h"\n', "base/loop.h (thread)")
        self.refuses("src/base/bytes.h", '#include "base/hidden.h"\n', "is no header of ours")
        code, output = check(files={"src/base/bytes.h": '#include "base/hidden.h"\n',
                                    "src/base/hidden.h": "#include <atomic>\n"})
        self.assertEqual(code, 1)
        self.assertIn("src/machine/pool.h: pure module includes atomic (thread) through assign/jump.h "
                      "through base/bytes.h through base/hidden.h", output)

    def test_pure_modules_make_no_impure_calls(self):
        self.refuses("src/machine/bad.cc", "auto x = getenv(\"A\");\n", "pure module uses getenv")
        self.refuses("src/machine/bad.cc", "std::hash<int> h;\n", "pure module uses std::hash")

    def test_checkout_pools_reach_no_log(self):
        self.refuses("src/guard/bad.h", '#include "log/log.h"\n', "checkout pools need no log")
        self.refuses("src/process/bad.h", '#include "tenure/v1/record.pb.h"\n', "checkout pools need no proto")
        code, output = check(files={"src/remote/bad.cc": '#include "base/bad.h"\n',
                                    "src/base/bad.h": '#include "node/node.h"\n'})
        self.assertEqual(code, 1)
        self.assertIn("src/remote/bad.cc: checkout pools need no node (node/node.h through base/bad.h)", output)

    def test_includes_that_cannot_be_followed(self):
        self.refuses("src/node/x.cc", "#include SOMETHING\n", "include by macro")
        self.refuses("src/node/x.cc", '#include "sqlite3.h"\n', "included with <>")

    def test_public_headers_include_only_the_standard_library(self):
        self.refuses("include/tenure/bad.h", "#include <boost/asio.hpp>\n", "only the standard library")
        self.refuses("include/tenure/bad.h", '#include "base/bytes.h"\n', "public must not include base")
        self.accepts("include/tenure/more.h", "#include <vector>\n\n#include <tenure/pool.h>\n")

    def test_comments_are_no_includes(self):
        self.accepts("src/machine/x.h", "// #include <thread>\n/*\n#include <mutex>\n*/\n")
        self.accepts("src/machine/x.h", "// We do not call getenv() here.\n")
        self.refuses("src/machine/bad.h", 'const char* url = "http://x"; /* a */\n#include <mutex>\n', "mutex")


if __name__ == "__main__":
    unittest.main()
