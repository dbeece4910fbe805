"""Write users.csv, items.csv, purchases.csv and data.yaml: users, items, and who bought what how often.

    python3 examples/purchases/make.py out/purchases

The shop is invented. It has 60 styles in ten departments. A user has two or three favourite styles, from which
come three of four purchases, and these items are bought again; the department says something about them, age and
country a little. Standard library alone; the same seed writes the same files.
"""

import random
import sys
from collections import Counter
from pathlib import Path

USERS, ITEMS, STYLES = 4000, 1200, 60
DEPARTMENTS = ["books", "garden", "games", "sports", "kitchen", "music", "pets", "shoes", "toys", "tools"]
COUNTRIES = ["DE", "FR", "NL", "PL", "SE"]
SETTINGS = """nodes: {user: users.csv, item: items.csv}
edges: purchases.csv
source: user
target: item
weight: times
task: links
candidates: node_type=item
"""


def main(directory: Path) -> None:
    """Draw users, items and purchases, and write them."""
    rng = random.Random(3)
    styles = [rng.randrange(STYLES) for _ in range(ITEMS)]
    popular = [1 / (1 + rng.randrange(40)) for _ in range(ITEMS)]
    of_style = [[i for i in range(ITEMS) if styles[i] == s] for s in range(STYLES)]
    users, items, purchases = ["id,age,country"], ["id,department,price"], ["user,item,times"]
    for i, style in enumerate(styles):
        items.append(f"i{i},{DEPARTMENTS[style % len(DEPARTMENTS)]},{rng.lognormvariate(3, 0.8):.2f}")
    for u in range(USERS):
        favourites = rng.sample(range(STYLES), rng.choice((2, 2, 3)))
        age = 20 + 4 * (favourites[0] % len(DEPARTMENTS)) + rng.randrange(25)
        users.append(f"u{u},{age},{COUNTRIES[(favourites[0] + rng.randrange(3)) % 5]}")
        bought: Counter[int] = Counter()
        for _ in range(rng.randrange(6, 25)):
            favoured = rng.random() < 0.75
            among = of_style[rng.choice(favourites)] if favoured else range(ITEMS)
            (item,) = rng.choices(among, [popular[i] for i in among])
            bought[item] += rng.randrange(1, 6) if favoured else 1
        purchases += [f"u{u},i{i},{times}" for i, times in sorted(bought.items())]
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "users.csv").write_text("\n".join(users) + "\n")
    (directory / "items.csv").write_text("\n".join(items) + "\n")
    (directory / "purchases.csv").write_text("\n".join(purchases) + "\n")
    (directory / "data.yaml").write_text(SETTINGS)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
