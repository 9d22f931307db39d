"""The fault model: random operations of several parties on random tables, under injected faults, judged by a model.

Run as ``python -m tests.faults --minutes 5``; see `tests.faults.__main__` for the arguments.
"""
