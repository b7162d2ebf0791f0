"""Scripts that write what is committed. Run by hand; never imported by the package."""
