"""The generated blocks of the documentation: text made from results/, one module per kind.

`page` lists the blocks and fills them in. All modules share `results`, which reads the files, and `table` and
`words`, which format text.
"""
