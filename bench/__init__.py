"""Speed and quality, measured: `python -m bench` runs every table and writes docs/benchmarks.md, `python -m bench NAME` one."""
