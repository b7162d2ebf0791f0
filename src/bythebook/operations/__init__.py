"""What a command asks for → done in this process, or by the server that holds the index.

May import `wiring` and below.
"""
