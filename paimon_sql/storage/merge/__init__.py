"""Merging of sorted runs: windows of whole keys, reduced by a merge engine."""
