"""`animegan report`: what the function's log lines say, by day, stage, style, source, size and memory size."""
