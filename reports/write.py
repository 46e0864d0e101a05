"""Writes the reports of a run folder: page, Markdown, charts, tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bench.errors import UsageError
from bench.results import Results
from reports.frames import RunData

DEFAULT_FORMATS: tuple[str, ...] = ("html", "md", "svg", "png", "csv")
FORMATS: tuple[str, ...] = (*DEFAULT_FORMATS, "parquet", "junit")


def write_reports(
    run_folder: Path,
    to: Path | None = None,
    formats: Sequence[str] = DEFAULT_FORMATS,
    *,
    brief: bool = False,
    share: bool = False,
    results: Results | None = None,
) -> list[Path]:
    """Writes reports of the run in `run_folder` into `to` (default: the same folder).

    `brief` makes the Markdown at most 25 lines, `share` leaves out excerpts and hashes the ids of
    sessions. `results` spares computing them again. Returns the written files, the page first.
    Raises UsageError for a folder without a run, an unknown format, or a place that can't be
    written.
    """
    for name in formats:
        if name not in FORMATS:
            raise UsageError(f"report format {name}: unknown, there are: {', '.join(FORMATS)}")
    from reports.reading import read_run

    data = read_run(run_folder, share=share, results=results)
    target = to if to is not None else run_folder
    try:
        target.mkdir(parents=True, exist_ok=True)
        return write_data(data, target, formats, brief=brief)
    except OSError as error:
        raise UsageError(
            f"{target}: reports can't be written here: {error.strerror or error}; give another "
            "folder with --to"
        ) from error


def write_data(
    data: RunData, target: Path, formats: Sequence[str] = DEFAULT_FORMATS, *, brief: bool = False
) -> list[Path]:
    """The same from frames; `target` must exist. Raises OSError."""
    from reports.charts import CHARTS
    from reports.style import to_png, to_svg

    written: list[Path] = []
    drawings: dict[str, str] = {}
    folder = target / "charts"
    needs_svg = "svg" in formats or "html" in formats
    if needs_svg or "png" in formats:
        if "svg" in formats or "png" in formats:
            folder.mkdir(exist_ok=True)
        for chart in CHARTS:
            figure = chart.draw(chart.frame(data))
            if needs_svg:
                drawings[chart.name] = to_svg(figure)
            if "svg" in formats:
                written.append(_write(folder / f"{chart.name}.svg", drawings[chart.name]))
            if "png" in formats:
                path = folder / f"{chart.name}.png"
                path.write_bytes(to_png(figure))
                written.append(path)
    if "csv" in formats:
        from reports.tables import write_csv

        written += write_csv(data, target / "tables")
    if "parquet" in formats:
        from reports.tables import write_parquet

        written += write_parquet(data, target / "tables")
    if "junit" in formats:
        from reports.junit import to_junit

        written.append(_write(target / "junit.xml", to_junit(data)))
    if "md" in formats:
        from reports.markdown import to_markdown

        has_picture = "png" in formats or (folder / "frontier.png").exists()
        text = to_markdown(data, brief=brief, has_pictures=has_picture)
        written.insert(0, _write(target / "report.md", text))
    if "html" in formats:
        from reports.html import to_html

        written.insert(0, _write(target / "report.html", to_html(data, drawings)))
    return written


def _write(path: Path, text: str) -> Path:
    # Lone surrogates can stand in recorded text and no file can hold them.
    path.write_bytes(text.encode("utf-8", errors="replace"))
    return path
