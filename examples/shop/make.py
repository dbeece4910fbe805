"""Write users.csv and follows.csv, a small shop whose users follow each other.

    python3 examples/shop/make.py examples/shop

The shop is invented: each user has a favourite department, and mostly follows users with the same one. Age,
country, device and the words of the profile say something about it, but not much. The same seed writes the
same files.
"""

import csv
import random
import sys
from datetime import date, timedelta
from pathlib import Path

USERS = 3000
DEPARTMENTS = {  # share of the users, mean age, words of their profiles
    "books": (0.28, 44, "novel reading library poems history essays"),
    "garden": (0.22, 52, "roses compost seeds herbs orchard bees"),
    "games": (0.20, 26, "console puzzles chess cards arcade quests"),
    "sports": (0.18, 33, "running cycling climbing tennis rowing yoga"),
    "kitchen": (0.12, 41, "baking knives bread spices coffee recipes"),
}
COMMON = ("friends", "weekend", "travel", "music", "family", "city", "coffee", "photos", "walks", "news")
SAME_DEPARTMENT = 0.72  # of the users that somebody follows


def main(directory: Path) -> None:
    """Draw the shop and write its two tables into a directory."""
    rng = random.Random(7)
    names = list(DEPARTMENTS)
    favourite = rng.choices(names, [DEPARTMENTS[n][0] for n in names], k=USERS)
    with open(directory / "users.csv", "w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["user_id", "joined", "country", "age", "device", "about", "favourite"])
        for i, department in enumerate(favourite):
            _, age, words = DEPARTMENTS[department]
            about = rng.sample(COMMON, 3) + (rng.sample(words.split(), 1) if rng.random() < 0.45 else [])
            rng.shuffle(about)
            joined = date(2024, 1, 1) + timedelta(days=i * 1000 // USERS)
            years = "" if rng.random() < 0.1 else max(16, round(rng.gauss(age, 14)))
            country = rng.choices(["DE", "FR", "NL", "PL"], [4, 3, 2, 1])[0]
            device = rng.choices(["phone", "laptop", "tablet"], [6, 3, 2])[0]
            out.writerow([f"u{i}", joined, country, years, device, " ".join(about), department])
    members = {n: [i for i, f in enumerate(favourite) if f == n] for n in names}
    follows = set()
    for i, department in enumerate(favourite):
        for _ in range(rng.randint(1, 5)):
            other = rng.choice(members[department]) if rng.random() < SAME_DEPARTMENT else rng.randrange(USERS)
            if other != i and (other, i) not in follows:
                follows.add((i, other))
    with open(directory / "follows.csv", "w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["follower", "followee"])
        out.writerows((f"u{a}", f"u{b}") for a, b in sorted(follows))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
