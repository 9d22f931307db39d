"""Reference pages of the documentation, in Markdown, generated from declarations.

``python -m paimon_sql.shell.reference [DIRECTORY]`` writes them, by default to ``docs/reference``.
"""
