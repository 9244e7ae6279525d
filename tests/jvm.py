"""How tests start their JVMs."""

# Tests run each plan a few times, and jobs are short. The second compiler takes more time than it saves: a third to a half of all time on
# two cores.
QUICK_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
