# Runs in the launcher: measure NODES TIMES. Prints lines `measure KIND MICROSECONDS`.
nodes=$1 times=$2
rsh=${OMPI_MCA_plm_rsh_agent:-ssh}
hosts=$(cut -d' ' -f1 /etc/mpi/hostfile)
now() { echo "${EPOCHREALTIME/./}"; }

# What is measured is launching, not waiting for nodes and names.
for host in $hosts; do until $rsh "$host" true < /dev/null 2> /dev/null; do sleep 0.2; done; done

for ((i = 0; i < times; i++)); do
  start=$(now)
  for host in $hosts; do $rsh "$host" true < /dev/null & done
  wait
  echo "measure bare $(($(now) - start))"

  start=$(now)
  mpirun -n "$nodes" hostname > /dev/null || exit
  echo "measure mpirun $(($(now) - start))"

  start=$(now) spoken=0
  while read -r line; do
    case $line in rank=*) spoken=$((spoken + 1)) ;; esac
    if [ "$spoken" = "$nodes" ]; then echo "measure init $(($(now) - start))" && spoken=0; fi
  done < <(mpirun -n "$nodes" mpi-hello)
done
# Last, for those who read the ranks.
mpirun -n "$nodes" mpi-hello
