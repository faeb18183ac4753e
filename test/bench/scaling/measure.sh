# Runs in the launcher: measure NODES TIMES STEPS WORK. Prints lines `measure KIND SECONDS`, and how many clock ticks of the processor process 1 of
# all pods has taken meanwhile: the agent, or sshd.
nodes=$1 times=$2 steps=$3 work=$4
rsh=${OMPI_MCA_plm_rsh_agent:-ssh}
hosts=$(cut -d' ' -f1 /etc/mpi/hostfile)
export OMPI_MCA_mpi_yield_when_idle=1              # more ranks than processors
export OMPI_MCA_hwloc_base_binding_policy=none     # which the agent says anyway: each pod would bind its rank to the first processor

ticks() {
  for host in $hosts; do $rsh "$host" cat /proc/1/stat < /dev/null; done | {
    sum=0
    while read -r -a field; do sum=$((sum + field[13] + field[14])); done
    echo $sum
  }
}
since() {
  micros=$((${EPOCHREALTIME/./} - ${1/./}))
  printf '%d.%02d\n' $((micros / 1000000)) $((micros % 1000000 / 10000))
}
seconds() {
  line=$(mpirun -n "$nodes" mpi-steps "$steps" "$2") || exit
  echo "measure $1 ${line##*seconds=}"
}

for host in $hosts; do until $rsh "$host" true < /dev/null 2> /dev/null; do sleep 0.2; done; done
before=$(ticks) start=$EPOCHREALTIME
for ((i = 0; i < times; i++)); do
  seconds strong $((work / nodes))
  seconds weak "$work"
  hpcc=$EPOCHREALTIME
  mpirun -n "$nodes" hpcc-small 1 "$nodes" 800 || exit
  echo "measure hpcc $(since "$hpcc")"
done
echo "measure ticks $(($(ticks) - before))"
echo "measure wall $(since "$start")"
# Last, for those who read the ranks.
mpirun -n "$nodes" mpi-hello
