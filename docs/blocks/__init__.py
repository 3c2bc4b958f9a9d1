"""The generated blocks of the documentation: text made from results/, one module per kind.

`page` lists the blocks and fills them in. All share `results`, which reads files, and `words`, which formats.
"""
