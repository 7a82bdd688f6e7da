#!/usr/bin/env python3
# The input comes on stdin as one JSON object; what is printed to stdout is the result.
# A non-zero exit is a failure: the model sees the code and what was printed to stderr.
import json
import sys

text = json.load(sys.stdin.buffer)["text"]


def amount(number, noun):
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


# From here on it is your tool: replace the counting by what yours does.
words = len(text.split())
lines = text.count("\n") + (not text.endswith("\n") and text != "")

print(", ".join([amount(words, "word"), amount(lines, "line"), amount(len(text), "character")]))
