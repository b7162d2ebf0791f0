"""`python -m bythebook` is `bythebook`."""

from bythebook.cli import main

main()
