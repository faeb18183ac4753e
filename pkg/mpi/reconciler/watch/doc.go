// Package watch decides which changes of objects lead to a pass, and which pass is next. Watches bring every change, so
// nothing is polled on the way from a TrainJob to its first rank. Changes of pods are a pass when something happens to
// one, or when all have come a step further (handlers.go, gang_counts.go), so that a wide job costs no more passes than
// a small one. The manager caches no Secret.
package watch
