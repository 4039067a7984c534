"""Data: readers (one format per file), sources as recipes name them, splits, checks, batches."""
