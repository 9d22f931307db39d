"""Write the answers of today into the pages: ``python -m tests.docs.record [PAGE ...]``.

Only blocks ``text`` whose answer has changed are written; look at the difference before it is kept.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from tests.docs.pages import DOCS, ROOT, Reader, alike, blocks, session


def main() -> None:
    """Record the pages that the arguments name, all without any."""
    for path in [Path(name).absolute() for name in sys.argv[1:]] or [*DOCS.glob("*.md"), ROOT / "README.md"]:
        text = path.read_text()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            reader = Reader(session(Path(folder) / "warehouse"))
            answered = [(block, reader.type(block)) for block in blocks(text)]
        for block, answer in reversed(answered):
            if block.answer is not None and not alike(block.answer, answer):
                text = text[: block.place.start] + answer + text[block.place.stop :]
            elif block.answer is None and answer.startswith("Error"):
                print(f"{path}:{block.line}: {answer}")
        path.write_text(text)


if __name__ == "__main__":
    main()
