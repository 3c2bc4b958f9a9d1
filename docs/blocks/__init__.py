"""The blocks of the documentation: text that is made from results/, one module for each kind of it.

`page` lists the blocks and fills them in. All share `results`, which reads the files, and `table` and
`words`, which say how things are written.
"""
