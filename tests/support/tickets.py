"""Support tickets: a subject, a body of several sentences, and the department that they are for.

Departments share openings, closings and fill-in sentences, some tickets speak of another department's subject, and some
words have typing errors, so that no single word decides.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

TARGET = "department"
# Of each department: what a ticket is about, what is wrong, and what is asked for.
TOPICS = {
    "billing": (
        ["invoice", "charge", "payment", "credit card", "receipt", "direct debit"],
        ["was charged twice", "shows the wrong amount", "has not been refunded", "was declined"],
        ["please send a corrected invoice", "I would like my money back", "can you explain the amount"],
    ),
    "shipping": (
        ["parcel", "order", "delivery", "tracking number", "courier", "replacement"],
        ["has not arrived", "was sent to the wrong address", "arrived damaged", "is stuck in customs"],
        ["where is it now", "please send another one", "can you call the courier"],
    ),
    "technical": (
        ["app", "login page", "dashboard", "export", "server", "password reset"],
        ["crashes when I open it", "shows error {n}", "is very slow since the update", "times out"],
        ["please fix this soon", "is there a workaround", "logs are attached"],
    ),
    "sales": (
        ["quote", "enterprise plan", "discount", "demo", "licence", "volume offer"],
        ["is about to expire", "is needed for {n} users", "would interest our team", "was promised to us"],
        ["please call me back", "when can we talk", "what would it cost"],
    ),
}
OPENINGS = ["Hello,", "Hi team,", "Dear support,", "Good morning,", ""]
CLOSINGS = ["Thanks", "Kind regards", "Thank you in advance!", "Regards, {name}", ""]
FILLERS = [
    "I have been a customer for {n} years.",
    "This is the second time I write about this.",
    "My order number is {n}.",
    "I tried the help page but it did not help.",
    "The account is under {name}.",
    "The app said everything was fine.",
    "The invoice is from last month.",
]
NAMES = ["Anna", "Bob", "Chen", "Dmitri", "Elif", "Fatima"]


def table(rows: int, departments: int = 4, seed: int = 0, elsewhere: float = 0.25, wrong: float = 0.03) -> pd.DataFrame:
    """Tickets. The share `elsewhere` names another department's subject, the share `wrong` has a random department."""
    rng = np.random.default_rng(seed)
    names = list(TOPICS)[:departments]

    def filled(text: str) -> str:
        return text.replace("{n}", str(rng.integers(2, 9000))).replace("{name}", rng.choice(NAMES))

    tickets = []
    for number in range(rows):
        department, other = names[number % departments], names[rng.integers(departments)]
        things, problems, wishes = TOPICS[department]
        thing, problem = rng.choice(things), rng.choice(problems)
        subject = rng.choice(
            [f"{thing} {problem}", f"Question about my {thing} since {{n}}", "I need help", "Question"]
        )
        mentioned = rng.choice(TOPICS[other][0]) if rng.random() < elsewhere else thing
        sentences = [f"my {mentioned} {problem}.", *rng.choice(FILLERS, size=rng.integers(0, 4), replace=False)]
        if rng.random() < 0.6:
            sentences.append(f"{rng.choice(wishes)}.")
        rng.shuffle(sentences)
        body = filled(" ".join([rng.choice(OPENINGS), *sentences, rng.choice(CLOSINGS)])).strip()
        if rng.random() < 0.2:  # two letters change places
            place = rng.integers(len(body) - 1)
            body = body[:place] + body[place + 1] + body[place] + body[place + 2 :]
        label = names[rng.integers(departments)] if rng.random() < wrong else department
        tickets.append((filled(subject), body, label))
    return pd.DataFrame(tickets, columns=["subject", "body", TARGET])
