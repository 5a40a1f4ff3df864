"""Three jobs of one task; the same as in program.c."""

import sys

import hemiola_mark

if sys.argv[1:] == ["names"]:
    task = hemiola_mark.Task("many")
    for name in [*range(40), 0, 39]:
        task.mark(f"name-{name}", name)
    sys.exit()

if sys.argv[1:] == ["alike"]:
    task = hemiola_mark.Task("alike")
    task.mark("a name of exactly thirty-two bytes", 1)
    task.mark("a name of exactly thirty-two bytes and more", 2)
    task.mark("thirty-one bytes and a half one\u00fc", 3)
    task.mark("thirty-one bytes and a half one\u4e2d", 4)
    task.mark("front\0back", 5)
    task.mark("front\0other", 6)
    sys.exit()

control = hemiola_mark.Task("control", period_ns=1_000_000, deadline_ns=500_000)
other = hemiola_mark.Task("überlanger Name von mehr als 31 Bytes")
if not hemiola_mark.is_recorded():
    print("not recorded")
hemiola_mark.start()
for release in (1000, 2000, 3000):
    with control.job(release):
        control.mark("sensor", release // 1000)
        control.mark("actuator", 7)
    control.end()
other.mark("real", 0.5)
other.mark("real", -0.25)
other.mark("whole", -3)
other.mark("whole", 2**64 - 1)
other.mark("text", "fünfzehn Zeichen und mehr")
other.begin()
other.end()
hemiola_mark.trigger("enough")
hemiola_mark.stop()
control.close()
control.mark("sensor", 99)
