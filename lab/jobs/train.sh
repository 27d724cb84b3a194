#!/bin/bash
# Starts one process for each rank with srun; each writes into a file of its own. Arguments go to the training script.
#SBATCH --job-name=train
set -u
mkdir -p "$LAB_JOBS/$SLURM_JOB_ID"
cd "$LAB_JOBS/$SLURM_JOB_ID" || exit 1
export MASTER_ADDR=${LAB_MASTER_ADDR:-127.0.0.1}
export MASTER_PORT=$((20000 + SLURM_JOB_ID % 10000))
export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo PYTHONUNBUFFERED=1
if [ -n "${LAB_BUSY_PORT:-}" ]; then # somebody else listens where rank 0 wants to
    "$LAB_PYTHON" -c "
import socket, sys, time
taken = socket.create_server(('', int(sys.argv[1])))
time.sleep(600)" "$MASTER_PORT" &
    trap "kill $!" EXIT
    sleep 2
fi
# The nodes of this lab share one host name, so each process names its file itself, as `--output=%N.rank%t.log` would.
export TRAIN="$LAB_PYTHON $LAB_TRAIN $*"
srun --distribution=block bash -c 'exec $TRAIN >"$SLURMD_NODENAME.rank$SLURM_PROCID.log" 2>&1'
