"""`tam report`: one HTML page of the published results, or of your own runs."""

from dataclasses import dataclass
from typing import Annotated

import tyro

from tam.errors import UserError, counted
from tam.io import path_of, replacing


@dataclass(frozen=True)
class Report:
    """Write one HTML page: the paper's tables and figures beside ours, or your own runs side by side."""

    run_folders: Annotated[
        tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="[RUN ...]", help_behavior_hint="")
    ] = ()
    """Folders of your own runs; the published results if none is given."""
    results: Annotated[str, tyro.conf.arg(metavar="FOLDER")] = "results"
    """Folder of the published results, as in a checkout."""
    out: Annotated[str, tyro.conf.arg(metavar="FILE")] = "report.html"
    """The HTML file to write."""

    def run(self) -> None:
        """Write the page."""
        from tam.report.collect import Results
        from tam.report.own_runs import read_runs
        from tam.report.page.own import own_page
        from tam.report.page.published import published_page

        out = path_of(self.out, "--out")
        if out.suffix not in (".html", ".htm"):
            raise UserError(f"--out must be the name of an HTML file, such as report.html: got {self.out}")
        if self.run_folders:
            runs = read_runs([path_of(folder, "RUN") for folder in self.run_folders])
            text, what = own_page(runs), counted(len(runs), "run")
        else:
            results = Results(path_of(self.results, "--results"))
            text, what = published_page(results), f"{len(results.runs)} published runs"
        with replacing(out) as file:
            file.write_text(text, encoding="utf-8")
        print(f"{what}; written to {out}")
