"""How a commit makes its manifests and its snapshot."""
