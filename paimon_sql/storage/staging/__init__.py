"""What writers hand to a commit: messages, staged files, the proposed changes."""
