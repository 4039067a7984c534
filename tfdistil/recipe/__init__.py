"""The recipe: its keys, how a file of them is read and checked, and the systems it names."""
