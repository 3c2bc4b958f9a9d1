"""Write the generated parts of the documentation: its figures, and its numbers from results/.

Run `make pages`. In README.md and the pages of docs/, the text between `<!-- begin: NAME -->` and
`<!-- end: NAME -->` is replaced by the block of that name; docs/blocks/page.py lists the blocks. With --check
nothing is written: files that are out of date are listed, and the exit code is 1 if there are any.
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from blocks.ceilings import reference
from blocks.page import fill
from blocks.results import ROOT, Results
from drawings import charts, exported, serving
from drawings.benchmarks import FIGURES


def files() -> Iterator[tuple[Path, str]]:
    """All generated files, with their contents."""
    results = Results()
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        yield page, fill(page.read_text(encoding="utf-8"), results)
    yield ROOT / "src" / "tam" / "experiments" / "reference.json", reference(results)
    pictures = {name: draw().svg() for name, draw in FIGURES.items()}
    pictures |= {"serving": serving.draw(results.serve).svg(), "onnx": exported.draw().svg()}
    pictures |= {"quality": charts.quality(results), "scaling": charts.scaling(results.scaling)}
    pictures["embeddings"] = charts.embeddings(results)
    if results.reproductions:
        pictures["learning"] = charts.learning(results)
    for name, picture in pictures.items():
        yield ROOT / "docs" / "figures" / f"{name}.svg", picture


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the figures and the numbers of the documentation.")
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit with 1 if a file is out of date"
    )
    check = parser.parse_args().check
    stale = [(path, text) for path, text in files() if not path.exists() or path.read_text("utf-8") != text]
    for path, text in stale:
        print(f"{path.relative_to(ROOT)} {'is out of date: run make pages' if check else 'written'}")
        if not check:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
    sys.exit(1 if check and stale else 0)


if __name__ == "__main__":
    main()
