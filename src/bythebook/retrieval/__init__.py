"""Finding the passage: filters, hybrid search, and the surroundings of a hit."""
