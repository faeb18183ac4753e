// Package queues asks Kueue about jobs that wait in its queues, and why it stopped others. Each queue is asked about
// every 10 s, and not each job.
package queues
