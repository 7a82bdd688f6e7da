"""Reads functions and questions out of the wheel of bfcl-eval, ranks them by plain BM25, and writes all of it as JSON.

    python3 catalogue.py WHEEL OUT.json

A question asks for one function; it is in the half of that function, which is told by the lowest bit of the first byte of the SHA-256 of
the function's name. So no function that weights were set on is among those that are reported.
"""
import collections
import hashlib
import json
import math
import re
import sys
import zipfile

FILES = [
    "live_multiple", "multiple", "live_simple", "simple_python", "parallel", "parallel_multiple", "live_parallel",
    "live_parallel_multiple", "simple_java", "simple_javascript", "irrelevance", "live_irrelevance", "live_relevance",
]
ASKED = ["simple_python", "multiple", "live_simple", "live_multiple"]


def main(wheel, out):
    archive = zipfile.ZipFile(wheel)

    def lines(name):
        text = archive.read(f"bfcl_eval/data/{name}").decode()
        return [json.loads(line) for line in text.splitlines() if line.strip()]

    tools = {}
    for file in FILES:
        for entry in lines(f"BFCL_v4_{file}.json"):
            for function in entry["function"]:
                tools.setdefault(function["name"], function)
    bm25 = Bm25(tools.values())
    questions = []
    for file in ASKED:
        answers = {entry["id"]: entry["ground_truth"] for entry in lines(f"possible_answer/BFCL_v4_{file}.json")}
        for entry in lines(f"BFCL_v4_{file}.json"):
            tool = next(iter(answers[entry["id"]][0]))
            text = " ".join(said["content"] for said in entry["question"][0] if said["role"] == "user")
            questions.append({
                "set": file,
                "text": text,
                "tool": tool,
                "reported": bool(hashlib.sha256(tool.encode()).digest()[0] & 1),
                "bm25": tool in bm25.search(text, 5),
            })
    documents = [
        {"name": tool["name"], "description": tool.get("description", ""), "schema": tool.get("parameters", {})}
        for tool in tools.values()
    ]
    with open(out, "w", encoding="utf-8") as file:
        json.dump({"tools": documents, "questions": questions}, file)


class Bm25:
    """The textbook's ranking over one bag of words a tool."""

    def __init__(self, tools):
        self.names, self.lengths = [], []
        self.found = collections.defaultdict(list)
        for at, tool in enumerate(tools):
            properties = tool.get("parameters", {}).get("properties", {})
            text = (tool["name"] + " ") * 2 + tool.get("description", "")
            text += "".join(f" {name} {field.get('description', '')}" for name, field in properties.items())
            words = self.words(text)
            self.names.append(tool["name"])
            self.lengths.append(len(words))
            for word, count in collections.Counter(words).items():
                self.found[word].append((at, count))
        self.usual = sum(self.lengths) / len(self.lengths)

    @staticmethod
    def words(text):
        text = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", text)
        return [word for word in re.split(r"[^a-z0-9]+", text.lower()) if word]

    def search(self, text, limit):
        scores = collections.Counter()
        for word in set(self.words(text)):
            found = self.found.get(word, [])
            rarity = math.log(1 + (len(self.names) - len(found) + 0.5) / (len(found) + 0.5))
            for at, count in found:
                long = 0.25 + 0.75 * self.lengths[at] / self.usual
                scores[at] += rarity * count * 2.2 / (count + 1.2 * long)
        return [self.names[at] for at, _ in scores.most_common(limit)]


if __name__ == "__main__":
    main(*sys.argv[1:])
