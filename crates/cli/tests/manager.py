"""A manager for the tests: the monitor, and a number of steps. The column `age` grows by 1 in each step."""
import sys

import hemiola_manager


def main():
    known, dead, complete, rows = {}, set(), 0, 0
    with hemiola_manager.Manager(sys.argv[1], name="in Python", every_step=True) as manager:
        print("registered", manager.columns, flush=True)
        for told in manager:
            if told.kind == "step":
                complete += 1
                if complete >= int(sys.argv[2]) and told.left == 0:
                    print(f"complete: {rows} rows")
                    return
            elif told.kind == "deaths":
                for entity in told.entities:
                    assert entity in known and entity not in dead, f"{entity} dies once"
                    dead.add(entity)
            else:
                assert told.element in ("fish", "carp"), told.element
                for entity, age in zip(told.entities, told.columns["age"]):
                    assert (entity in known) == (told.kind == "rows") and entity not in dead, f"{entity}: {told}"
                    if told.kind == "rows":
                        before, step = known[entity]
                        assert age - before == told.step - step, f"{entity}: {age} at {told.step}, {before} at {step}"
                        rows += 1
                    known[entity] = age, told.step
                if "name" in told.columns:
                    assert set(told.columns["name"]) <= {"fish", "carp"}, told.columns["name"]
    print("ended: the universe has ended")


main()
