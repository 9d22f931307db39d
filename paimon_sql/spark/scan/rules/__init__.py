"""Optimizer rules above scans."""
