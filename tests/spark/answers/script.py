"""Stories as SQL, to be run by hand."""

from __future__ import annotations

from tests.spark.answers.story import Change, Check, Statement, Story


def as_sql(story: Story) -> str:
    """A story as SQL."""
    lines = []
    for step in story.steps:
        if isinstance(step, Statement | Change):
            lines.append(f"{step.text};")
        elif isinstance(step, Check):
            lines += [f"{query.of(step.source)};" for query in step.queries]
    return "\n".join(lines)
