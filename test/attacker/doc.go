// Package attacker tries to get past the admission policies of a cluster: it writes TrainJobs and pods that could do harm, and has who judges
// them. Oracle knows what is dangerous and nothing of policies; Server is the code by which an API server judges, in this process.
//
// Tests of the compiler ask Server, test/integration asks real API servers of several versions.
package attacker
