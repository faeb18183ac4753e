#!/bin/bash
# hpcc-small P Q [N] is a rank of the HPC Challenge (HPL, PTRANS, RandomAccess, STREAM, FFT, latency and bandwidth) for a world of P × Q ranks, with
# matrices of N rows. Each rank works in a folder of its own, because the first one reads and writes files by fixed names. It ends as hpcc does,
# or with 1 where hpcc found a result wrong.
set -euo pipefail
p=$1 q=$2 n=${3:-400}
cd "$(mktemp -d)"
# A line for each value, in the order of HPL's own input file.
cat > hpccinf.txt <<END
HPC Challenge
lockstep
HPL.out      output file
8            device: a file
1            problem sizes
$n           rows
1            block sizes
40           rows of a block
0            row-major mapping
1            process grids
$p           P
$q           Q
16.0         threshold of the residual
1            panel factorisations
2            right
1            recursive stopping criteria
4            columns
1            panels in recursion
2            panels
1            recursive panel factorisations
1            Crout
1            broadcasts
1            modified ring
1            depths of look-ahead
1            depth
2            swapping: mixed
64           swapping threshold
0            L1 transposed
0            U transposed
1            equilibration
8            alignment
separator
0            further sizes for PTRANS
1200         their values
0            further block sizes for PTRANS
40           their values
END
hpcc
[ -e hpccoutf.txt ] || exit 0
grep -E '^(Success|CommWorldProcs|HPL_Tflops|PTRANS_GBs|MPIRandomAccess_GUPs|MPIFFT_Gflops|StarSTREAM_Triad|AvgPingPongLatency_usec|AvgPingPongBandwidth_GBytes)=' hpccoutf.txt
grep -q '^Success=1$' hpccoutf.txt
