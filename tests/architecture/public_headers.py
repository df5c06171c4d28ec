#!/usr/bin/env python3
"""Compiles each public header alone. Usage: public_headers.py ROOT COMPILER"""

import pathlib
import subprocess
import sys


def main():
    root, compiler = pathlib.Path(sys.argv[1]), sys.argv[2]
    headers = sorted((root / "include").rglob("*.hpp"))
    failed = 0
    for header in headers:
        command = [compiler, "-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-x", "c++", "-I",
                   root / "include", "-"]
        source = f'#include "{header.relative_to(root / "include")}"\n'
        if subprocess.run(command, input=source, text=True, check=False).returncode != 0:
            print(f"{header.relative_to(root)} does not compile alone")
            failed += 1
    print(f"{len(headers)} headers, {failed} errors")
    return 1 if failed or not headers else 0


if __name__ == "__main__":
    sys.exit(main())
