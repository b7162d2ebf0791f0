"""What a book is: pure code from files to chunks. Knows nothing of embeddings, indexes or networks."""
