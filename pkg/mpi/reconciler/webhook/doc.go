// Package webhook answers the API server of a companion: pods of TrainJobs are completed when they are made, after
// their network policy. A policy is made by the first pass, or when the first pod is about to be made, whichever is
// sooner.
package webhook
