"""Measure how well tasks are learned: the k-shot protocol, floors and decoding."""
