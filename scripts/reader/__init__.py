"""How the reader of src/bythebook/retrieval/answer_reader.py was taught: rows, train, export, and the graph it runs by."""
