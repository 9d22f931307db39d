"""Scan planning: which files a read must look at, and how they are split among readers."""
