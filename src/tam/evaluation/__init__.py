"""How well tasks are learned: the k-shot protocol, and decoding."""
