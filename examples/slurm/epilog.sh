#!/bin/sh
# Has the job that just ended diagnosed, in the background, within a deadline. It never blocks a node and never fails
# one: whatever goes wrong, it ends at once with 0, and what it has to say goes into a log.
#
# In slurm.conf, either of
#   EpilogSlurmctld=/etc/attribution/epilog.sh   once for each job, on the controller: no load on any node
#   Epilog=/etc/attribution/epilog.sh            on each node of the job; only the first node does the work
#
# To be set in the environment of the daemon, or below:
ATTRIBUTION=${ATTRIBUTION_COMMAND:-attribution}               # the program
CONFIG=${ATTRIBUTION_CONFIG:-/etc/attribution/blueprint.yaml} # its configuration, with `context.slurm` in it
LOG=${ATTRIBUTION_LOG:-/var/log/attribution-epilog.log}       # what it prints, if its sinks do not say otherwise
DEADLINE_SECS=${ATTRIBUTION_EPILOG_DEADLINE_SECS:-60}         # the best answer that can be had by then
SETTLE_SECS=${ATTRIBUTION_EPILOG_SETTLE_SECS:-5}              # until records and last lines have been written

# A task of an array goes by the array's id: the plain id of its last task is also that of the whole array.
job=${SLURM_JOB_ID:-}
[ -n "${SLURM_ARRAY_TASK_ID:-}" ] && [ -n "${SLURM_ARRAY_JOB_ID:-}" ] && job=${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID
case $job in '' | *[!0-9_]*) exit 0 ;; esac

# Of several nodes only the first goes on. Where Slurm does not tell an epilog the nodes of its job, use EpilogSlurmctld.
if [ -n "${SLURMD_NODENAME:-}" ] && [ -n "${SLURM_JOB_NODELIST:-}" ]; then
    first=$(timeout 2 scontrol show hostnames "$SLURM_JOB_NODELIST" 2>/dev/null | head -n 1)
    [ -z "$first" ] || [ "$first" = "$SLURMD_NODENAME" ] || exit 0
fi

(: >>"$LOG") 2>/dev/null || LOG=/dev/null
if [ "${1:-}" = --now ]; then
    exec >>"$LOG" 2>&1 # and so lets go of the epilog, which waits for this
    sleep "$SETTLE_SECS"
    # The deadline counts from when it is ready to work; the time limit is for what hangs. No nicer than this: the next
    # job takes all the processors, and an answer that never comes helps nobody.
    exec nice -n 5 timeout --kill-after=10 $((2 * DEADLINE_SECS + 60)) \
        "$ATTRIBUTION" run --config "$CONFIG" --job "$job" --deadline-secs "$DEADLINE_SECS"
fi

# In a session of its own, with no open file of the daemon. Slurm ends what is left of an epilog's own process group, so
# this waits until the other one is out of it, which is a matter of milliseconds.
: "$(setsid "$0" --now </dev/null 2>/dev/null &)"
exit 0
