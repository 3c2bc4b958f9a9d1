"""Customer-specific labels: train on other customers' labels, then learn a new one from eight requests.

Each task is one label against the rest. Run it: `python examples/customer_labels.py`.
"""

import tam

SUBJECTS = {
    "card": ["card", "pin", "chip", "plastic"],
    "transfer": ["transfer", "payment", "sent", "wire"],
    "login": ["login", "password", "app", "code"],
    "refund": ["refund", "return", "back", "shop"],
    "fee": ["fee", "charge", "cost", "price"],
    "address": ["address", "moved", "street", "home"],
    "loan": ["loan", "credit", "rate", "borrow"],
    "account": ["account", "close", "open", "new"],
    "cash": ["cash", "machine", "withdraw", "notes"],
    "travel": ["abroad", "travel", "country", "currency"],
}
PHRASES = [
    "my {} is late",
    "why was the {} refused",
    "help me with a {}",
    "i have lost my {}",
    "is the {} safe",
]


def requests(subject: str) -> list[list[str]]:
    return [phrase.format(word).split() for word in SUBJECTS[subject] for phrase in PHRASES]


def task(subject: str) -> list[tuple[list[str], str]]:
    """Requests on a subject, and as many on other subjects."""
    others = [text for other in SUBJECTS if other != subject for text in requests(other)]
    own = [(text, subject) for text in requests(subject)]
    return own + [(text, "other") for text in others[:: len(others) // len(own)]]


def main() -> None:
    tasks = tam.tasks_from({subject: task(subject) for subject in SUBJECTS if subject != "travel"})
    learner = tam.Learner(preset="smoke", steps=100, validate_every=25, rate=0.01, shots=(5,)).fit(tasks)

    examples = [(f"my {word} is late".split(), "travel") for word in SUBJECTS["travel"]]
    examples += [(f"my {word} is late".split(), "other") for word in SUBJECTS["fee"]]
    label = learner.adapt(examples)
    asked = ["is the currency safe", "why was the cost refused", "help me with a country", "is the fee safe"]
    for text, answer in zip(asked, learner.predict(label, [text.split() for text in asked]), strict=True):
        print(f"{text}: {answer}")


if __name__ == "__main__":
    main()
