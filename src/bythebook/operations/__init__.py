"""What a command asks for → its result, from this process or from the one that holds the index.

May import `wiring` and below.
"""
