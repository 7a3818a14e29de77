"""`animegan doctor`: whether this environment is what the function needs to be fast, and what to change."""
