// Package probe measures what the network of a job is worth, without any MPI library: every rank reports itself, and all
// pairs of ranks measure the round trip and the bandwidth of TCP between them. It certifies a runtime: that the launcher
// starts ranks everywhere, and that they reach each other on any port.
//
//	exchange  all ranks meet at an agent of the job (Exchange) and learn each other's addresses
//	measure   in rounds, as in a tournament: in each round every rank plays one other, so that pairs do not disturb
//	          each other more than the machines do
//	exchange  again, with the results; rank 0 makes the Report
//
// It takes a bounded time, whatever happens: each pair has its share, and what is not measured is said.
package probe
