#!/usr/bin/env python3
"""Make tables of nodes and edges of Debian's package lists: three types of nodes, five types of edges.

    apt-cache dumpavail | python3 tools/debian/tables.py DIR [--packages 20000]

Packages have a section, which is the class, and the words of their description, their size and architecture as features.
Maintainers and source packages have no features. A package of a source is taken with all others of the source; sources
are taken in the order of their names' hashes, and packages drawn half to train, a quarter to val and a quarter to test.
"""

import argparse
import csv
import hashlib
import math
import re
import sys
from collections import Counter
from pathlib import Path

RELATIONS = {"Depends": "depends", "Pre-Depends": "depends", "Recommends": "recommends", "Suggests": "suggests"}
RARE = 40  # packages: smaller sections are left out


def stanzas(lines):
    """Yield each paragraph of lines as a dictionary; lines that go on are left out."""
    fields = {}
    for line in lines:
        if not line.strip():
            if fields:
                yield fields
            fields = {}
        elif not line[0].isspace():
            name, _, value = line.partition(":")
            fields[name] = value.strip()
    if fields:
        yield fields


def order(name):
    return hashlib.sha256(name.encode()).hexdigest()


def read(lines, most):
    """Return the packages to take, by name."""
    found = {}
    for of in stanzas(lines):
        name, section = of.get("Package", ""), of.get("Section", "").rpartition("/")[2]
        if name and section and "Description" in of:
            found.setdefault(name, {**of, "Section": section, "Source": of.get("Source", name).split(" ")[0]})
    by_source = {}
    for name, of in found.items():
        by_source.setdefault(of["Source"], []).append(name)
    taken = {}
    for source in sorted(by_source, key=order):
        if len(taken) + len(by_source[source]) <= most:
            taken.update((name, found[name]) for name in by_source[source])
    sections = Counter(of["Section"] for of in taken.values())
    return {name: of for name, of in taken.items() if sections[of["Section"]] >= RARE}


def edges(packages):
    """Yield source, target and type of each edge between nodes that are taken."""
    for name, of in packages.items():
        seen = set()
        for field, kind in RELATIONS.items():
            for other in re.split(r"[,|]", of.get(field, "")):
                other = re.split(r"[ (:\[<]", other.strip(), maxsplit=1)[0]
                if other in packages and other != name and (other, kind) not in seen:
                    seen.add((other, kind))
                    yield f"package:{name}", f"package:{other}", kind
        yield f"package:{name}", f"maintainer:{of.get('Maintainer', '')}", "maintained_by"
        yield f"package:{name}", f"source:{of['Source']}", "built_from"


def write(file, header, rows):
    with file.open("w", newline="", encoding="utf-8") as out:
        table = csv.writer(out)
        table.writerow(header)
        table.writerows(rows)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("dir", type=Path)
    arguments.add_argument("--packages", type=int, default=20000, help="at most so many")
    said = arguments.parse_args()
    sys.stdin.reconfigure(encoding="utf-8", errors="replace")
    packages = read(sys.stdin, said.packages)
    if not packages:
        sys.exit("no packages on standard input: apt-cache dumpavail writes them")
    said.dir.mkdir(parents=True, exist_ok=True)
    roles = ["train", "train", "val", "test"]
    write(
        said.dir / "packages.csv",
        ["id", "section", "split", "description", "log_size", "architecture"],
        (
            [
                f"package:{name}",
                of["Section"],
                roles[int(order("role " + name)[:8], 16) % 4],
                of["Description"],
                f"{math.log1p(int(of.get('Installed-Size', 0))):.3f}",
                "all" if of.get("Architecture") == "all" else "binary",
            ]
            for name, of in packages.items()
        ),
    )
    for kind, field in {"maintainer": "Maintainer", "source": "Source"}.items():
        names = sorted({of.get(field, "") for of in packages.values()})
        write(said.dir / f"{kind}s.csv", ["id"], ([f"{kind}:{name}"] for name in names))
    write(said.dir / "edges.csv", ["source", "target", "kind"], edges(packages))
    (said.dir / "data.yaml").write_text(
        "nodes: {package: packages.csv, maintainer: maintainers.csv, source: sources.csv}\n"
        "edges: edges.csv\nlabel: section\nedge_type: kind\ntypes: {description: text}\n"
    )
    print(f"{len(packages)} packages of {len({of['Section'] for of in packages.values()})} sections")


if __name__ == "__main__":
    main()
