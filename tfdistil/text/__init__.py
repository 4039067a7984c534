"""Text to words, words to model inputs."""
