"""The figures of the documentation, drawn on a `Canvas`; every number in them is computed or measured."""
