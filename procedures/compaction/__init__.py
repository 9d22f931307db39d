"""Procedures that rewrite data files and manifests."""
