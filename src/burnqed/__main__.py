"""`burn-qed`, and `python -m burnqed`."""

import sys


def main() -> None:
    """Run a command. Ctrl-C while the commands are still being loaded ends as it does later."""
    try:
        from burnqed.cli.main import main as run

        run()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
