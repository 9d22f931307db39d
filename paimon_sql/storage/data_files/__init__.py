"""The live data files of a snapshot: deletion vectors, sections and levels, files of the same rows, pruning."""
