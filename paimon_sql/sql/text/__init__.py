"""SQL text: names, Flink's names, secrets."""
