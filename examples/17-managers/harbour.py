#!/usr/bin/env python3
"""A manager that knows the ships in the harbour, and prints once in a second of the bay how many there are."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../crates/manager/python"))
import hemiola_manager

LOW, HIGH = (0, 0), (200, 200)
MONITOR = "ship:place:near([-50<m>,-50<m>], [250<m>,250<m>], 1<m>)"


def main():
    places, rows = {}, 0
    with hemiola_manager.Manager(MONITOR, name="harbour", every_step=True) as manager:
        for told in manager:
            if told.kind == "deaths":
                for ship in told.entities:
                    del places[ship]
            elif told.kind in ("births", "rows"):
                x, y = told.columns["place[0]"], told.columns["place[1]"]
                places.update(zip(told.entities, zip(x, y)))
                rows += len(told.entities)
            elif told.step % 60 == 0:
                inside = sum(LOW[0] <= x <= HIGH[0] and LOW[1] <= y <= HIGH[1] for x, y in places.values())
                state = "complete" if told.left == 0 else f"{told.left} changes to come"
                ships = f"{len(places)} ships, {inside} in the harbour"
                print(f"step {told.step}: {ships}, {rows} rows so far, {state}", flush=True)


try:
    main()
except (hemiola_manager.Refused, hemiola_manager.Ended) as reason:
    sys.exit(f"harbour: {reason}")
