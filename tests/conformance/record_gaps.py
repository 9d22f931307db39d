"""Write gaps.txt anew from what fails today: ``python -m tests.conformance.record_gaps``.

Run it after something was mended, look at the difference, and never to hide something that used to pass.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from .runners import GAPS, conformance_failures, conformance_files, golden_cases, golden_failures
from .session import make


def main() -> None:
    """Run everything and write what fails."""
    lines = ["# What does not pass yet; a check that passes must be taken out. See record_gaps.py."]
    total = 0
    with tempfile.TemporaryDirectory() as warehouse:
        spark = make(warehouse)
        for i, file in enumerate(conformance_files()):
            failures = conformance_failures(spark, file, f"c{i}_{Path(file).stem}", warehouse)
            total += len(failures)
            if failures:
                lines.append(f"conformance {file}: {' '.join(sorted(failures, key=int))}")
            sys.stderr.write(f"{file}: {len(failures)}\n")
        for case in golden_cases():
            failures = golden_failures(spark, case, warehouse)
            total += len(failures)
            if failures:
                lines.append(f"golden {case}: {'; '.join(sorted(failures))}")
            sys.stderr.write(f"{case}: {len(failures)}\n")
    GAPS.write_text("\n".join(lines) + "\n")
    sys.stderr.write(f"{total} gaps\n")


if __name__ == "__main__":
    main()
