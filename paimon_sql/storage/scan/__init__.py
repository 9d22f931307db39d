"""Scan planning: which files a read needs, and how readers share them as splits."""
