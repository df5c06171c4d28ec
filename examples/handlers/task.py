#!/usr/bin/env python3
"""A task in Python (plain protocol): it reads the payload from standard input and prints the result."""
import os
import sys

words = sys.stdin.read().split()
if not words:
    sys.exit("there are no words to count")  # exit code 1: tried again, up to the limit
if words == ["later"]:
    sys.exit(os.EX_TEMPFAIL)  # 75: try again later
if words == ["never"]:
    print("this payload will never do", file=sys.stderr)
    sys.exit(os.EX_DATAERR)  # 65: do not try again

print(f"{len(words)} words for {os.environ['TENURE_KEY']}")
