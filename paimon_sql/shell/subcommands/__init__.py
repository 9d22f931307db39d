"""What the command does without and with a subcommand; `main` imports the module of what it is to do."""
