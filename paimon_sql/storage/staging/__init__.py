"""The input of a commit: commit messages, staged files, the proposal."""
