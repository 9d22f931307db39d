"""Optimizer rules that replace scans."""
