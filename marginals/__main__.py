"""`python -m marginals`, the same as `marginals`."""

from marginals.commands.main import main

if __name__ == "__main__":
    main(prog_name="marginals")
