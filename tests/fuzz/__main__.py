"""Run as ``python -m tests.fuzz --seconds 3600 --seed 1``; the seed and each failing case are printed."""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from pathlib import Path

from .making import FEATURES
from .running import Worker, kind_of, run, save, smaller, work


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, help="by chance when not given")
    parser.add_argument("--only", choices=sorted(FEATURES), help="make only cases with this feature")
    parser.add_argument("--out", type=Path, help="a folder for small cases of each failure")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work()
        return 0
    seed = random.SystemRandom().randrange(10**6) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    found: Counter[str] = Counter()
    count, started = 0, time.monotonic()
    with Worker() as worker:
        for number, spec, failures in run(worker, seed, options.seconds, only=options.only):
            count += 1
            if not failures:
                continue
            kind = f"{kind_of(failures[0])} {spec['features']}"
            found[kind] += 1
            print(f"seed {seed} case {number} {spec['features']}: {'; '.join(failures)[:600]!r}", flush=True)
            if options.out and found[kind] == 1:
                small = smaller(worker, spec, number, kind_of(failures[0]), 20)
                save(small, worker.examine(small, number), number, options.out / f"{seed}-{number}")
    print(f"seed {seed}: {count} cases in {time.monotonic() - started:.0f} s, {found.total()} failed")
    for kind, times in found.most_common():
        print(f"{times:6} {kind}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
