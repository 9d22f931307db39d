"""The conflict checks of a commit, one module each."""
