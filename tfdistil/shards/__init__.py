"""Plain text in many languages as rows of word pieces on disk: parts, packing, shards, sampling."""
