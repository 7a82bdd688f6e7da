"""Makes the tree that is searched: the same files on every machine.

    tree.py <folder> [files]

Nested folders of source-like text of many sizes, some binary files, and rules that
hide some of it. Every file has a time of its own.
"""

import os
import random
import sys

WORDS = """alpha beta gamma delta epsilon value index buffer length offset handle error result request
response session token parse render update remove insert append config option default module
package import export return yield await match while until before after between folder file line
column table entry queue worker thread channel message event signal state cache store""".split()
ENDS = ["rs", "py", "ts", "md", "json", "txt", "go", "c"]
HIDDEN = "*.log\n/build/\nnode_modules/\n"


def line(rng):
    words = rng.choices(WORDS, k=rng.randint(3, 11))
    kind = rng.random()
    if kind < 0.06:
        return f"fn {words[0]}_{words[1]}({words[2]}: usize) -> Result<{words[0].title()}, Error> {{"
    if kind < 0.10:
        return ""
    if kind < 0.11:
        return f"// TODO({words[0]}): " + " ".join(words)
    return "    " * rng.randint(0, 3) + " ".join(words) + ";"


def text(rng, blocks):
    # From blocks made once: what is written is random enough, and quickly made.
    size = min(int(rng.lognormvariate(7.6, 1.1)), 400_000)
    parts, length = [], 0
    while length < size:
        block = rng.choice(blocks)
        parts.append(block)
        length += len(block)
    out = "".join(parts)[: size + 1]
    if rng.random() < 0.002:
        out += "\nlet needle_in_haystack = 1;"
    if rng.random() < 0.01:
        out += "\n// naïve café, größer als 日本語"
    return out.encode() + b"\n"


def main():
    top, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 60_000
    rng = random.Random(4)
    blocks = ["\n".join(line(rng) for _ in range(12)) + "\n" for _ in range(800)]
    folders = [top]
    for number in range(count // 25):
        folders.append(os.path.join(rng.choice(folders[-200:]), f"{rng.choice(WORDS)}{number}"))
    for name in ("build", "node_modules"):
        folders.append(os.path.join(top, name))
    for folder in folders:
        os.makedirs(folder, exist_ok=True)
    with open(os.path.join(top, ".gitignore"), "w", encoding="utf-8") as file:
        file.write(HIDDEN)
    for folder in rng.sample(folders, len(folders) // 40):
        with open(os.path.join(folder, ".gitignore"), "w", encoding="utf-8") as file:
            file.write("*.tmp\n" if folder != top else HIDDEN)
    for number in range(count):
        folder = rng.choice(folders)
        kind = rng.random()
        if kind < 0.03:
            name, content = f"{number}.bin", b"\0" + rng.randbytes(rng.randint(100, 20_000))
        else:
            end = "log" if kind < 0.05 else "tmp" if kind < 0.07 else rng.choice(ENDS)
            name, content = f"{rng.choice(WORDS)}_{number}.{end}", text(rng, blocks)
        path = os.path.join(folder, name)
        with open(path, "wb") as file:
            file.write(content)
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))


main()
