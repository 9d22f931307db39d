"""The picture of the shell on the first page: ``python -m tests.docs.picture`` draws what the shell answers today.

Statements are highlighted as the prompt does it, answers and errors are the shell's own. The picture names fonts of the
reader's machine and loads none.
"""

from __future__ import annotations

import io
import os
import re
import tempfile
from html import unescape
from itertools import chain, repeat
from pathlib import Path

from pyspark.sql import SparkSession
from rich.console import Console
from rich.style import Style
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from paimon_sql.shell.commands import run_command
from paimon_sql.shell.engine.engine import Engine
from paimon_sql.shell.engine.report import Report
from paimon_sql.shell.pieces import split
from paimon_sql.shell.prompt import STYLE, fragments
from paimon_sql.shell.runner import Runner, Settings
from tests.docs.pages import DOCS, session

PICTURE = DOCS / "assets" / "shell.svg"
COMMAND = "paimon-sql --warehouse lake"
PROMPT = "paimon.default> "
STATEMENTS = (
    "CREATE TABLE orders (id INT, state STRING,\n  PRIMARY KEY (id) NOT ENFORCED);",
    "INSERT INTO orders VALUES (1, 'new'), (2, 'new');",
    "INSERT INTO orders VALUES (1, 'paid');  -- an upsert",
    "SELECT * FROM orders ORDER BY id;",
    "SELECT * FROM orders VERSION AS OF 1 WHERE id = 1;",
)
_WIDTH = 74
_PAPER, _INK, _GREY, _WHITE = (17, 27, 42), (214, 222, 235), (125, 141, 166), (255, 255, 255)
_COLOURS = [(255, 123, 114), (126, 211, 145), (229, 192, 123), (118, 174, 252), (198, 160, 246), (110, 207, 220)]
_THEME = TerminalTheme(_PAPER, _INK, [_PAPER, *_COLOURS, _INK], [_GREY, *_COLOURS, _WHITE])
_SVG = """<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{
  font: {char_height}px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", "Liberation Mono", monospace;
}}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/>
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def drawn(spark: SparkSession) -> str:
    """The picture, as SVG.

    Args:
        spark: a session over an empty warehouse.
    """
    screen = Console(file=io.StringIO(), record=True, width=_WIDTH)
    screen.print(Text.from_ansi(typed_and_answered(spark)), end="")
    return screen.export_svg(title="", theme=_THEME, code_format=_SVG, unique_id="shell")


def typed_and_answered(spark: SparkSession) -> str:
    """What a terminal gets: the command, and each statement with its answer."""
    terminal = io.StringIO()
    console = Console(
        file=terminal, width=_WIDTH, force_terminal=True, color_system="standard", highlight=False, markup=False
    )
    runner = Runner(Engine(lambda: spark), Settings(silent=True), console, Report(console), run_command)
    console.print(Text.assemble(("$ ", "bright_black"), COMMAND))
    for statement in STATEMENTS:
        console.print(typed(statement))
        runner.run(split(statement))
    return terminal.getvalue()


def typed(statement: str) -> Text:
    """A statement as it stands behind the prompt."""
    lines = Text.assemble(*((text, rich_style(str(style))) for style, text, *_ in fragments(statement))).split("\n")
    prompts = chain([PROMPT], repeat("-> ".rjust(len(PROMPT))))
    return Text("\n").join(Text(prompt) + line for prompt, line in zip(prompts, lines, strict=False))


def rich_style(style: str) -> Style:
    """A style of the prompt as one of rich."""
    look = STYLE.get_attrs_for_style_str(style)
    colour = (look.color or "").removeprefix("ansi").replace("bright", "bright_")
    return Style(color=colour or None, italic=look.italic or None)


def texts(svg: str) -> list[str]:
    """The texts of a picture, as they are read."""
    return [unescape(text).replace("\xa0", " ") for text in re.findall(r"<text [^>]*>([^<]*)</text>", svg)]


def main() -> None:
    """Write the picture."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        picture = drawn(session(Path(folder) / "lake"))
    PICTURE.write_text(picture)


if __name__ == "__main__":
    main()
