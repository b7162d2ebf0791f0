"""What a command has a library do, so that it can be done in this process or in the server that holds the index."""
