"""40 files of a made-up shop, the same at each run: 39 days of orders and the list of customers.

`write` makes them and returns the answer to the question that is asked of them, worked out here."""

import os
import random

DAYS = 39
ORDERS_A_DAY = 80
CUSTOMERS = 150
PLANS = ["basic", "business", "education", "enterprise", "family", "trial"]
CITIES = ["Bergen", "Cork", "Delft", "Graz", "Lyon", "Porto", "Turku", "Utrecht"]
STATUSES = ["delivered"] * 14 + ["shipped"] * 3 + ["cancelled"] + ["refunded"] * 2
LEAST_CENTS = 10_000
QUESTION = (
    "Which three plans had the largest sums of refunded orders of at least 100.00, and how large were they?"
)


def write(folder):
    """Makes the files in a folder that is there. Returns their paths in it, and the three lines of the answer."""
    chance = random.Random(40)
    customers = [
        (f"C{number:04}", f"customer {number} of {chance.choice(CITIES)}", chance.choice(PLANS))
        for number in range(1, CUSTOMERS + 1)
    ]
    save(folder, "customers.csv", "id,name,plan", customers)
    paths, sums = ["customers.csv"], dict.fromkeys(PLANS, 0)
    os.mkdir(os.path.join(folder, "orders"))
    for day in range(DAYS):
        # September has 30 days.
        date = f"2026-09-{day + 1:02}" if day < 30 else f"2026-10-{day - 29:02}"
        orders = []
        for number in range(ORDERS_A_DAY):
            customer = chance.choice(customers)
            status, cents = chance.choice(STATUSES), chance.randrange(500, 60_000)
            orders.append((f"{date}-{number:03}", customer[0], status, f"{cents / 100:.2f}", chance.choice(CITIES)))
            if status == "refunded" and cents >= LEAST_CENTS:
                sums[customer[2]] += cents
        path = f"orders/{date}.csv"
        save(folder, path, "id,customer,status,amount,sent_to", orders)
        paths.append(path)
    largest = sorted(sums.items(), key=lambda entry: -entry[1])[:3]
    return paths, "\n".join(f"{plan}: {cents / 100:.2f}" for plan, cents in largest)


def save(folder, path, head, rows):
    with open(os.path.join(folder, path), "w") as file:
        file.write(head + "\n")
        file.writelines(",".join(row) + "\n" for row in rows)
