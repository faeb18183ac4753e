// Package artifacts has the artifacts of jobs copied after their end. A Job of the TrainJob decides whether that is
// done; the record of the job only shows it.
package artifacts
