// Package training learns how far a program is: from lines that report it, from the usual lines of training loops, and
// from posts to a server on the loopback interface that keeps the contract of Kubeflow Trainer's status server.
//
// Any of this may be nonsense or an attack: both the result (mpi.TrainingProgress) and the cost of a line are bounded.
package training
