"""The JVM options of the tests."""

# Tests run each plan only a few times, and jobs are short. The JVM's second compiler would cost more time
# than it saves: a third to a half of the total time on two cores.
# The classes of Spark are as its compiler made them: verifying them takes two or three seconds.
QUICK_JVM = (
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
)
