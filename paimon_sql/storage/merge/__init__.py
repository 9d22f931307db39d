"""Merging sorted runs: rows of equal keys brought together window by window, and reduced by a merge engine."""
