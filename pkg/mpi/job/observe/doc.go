// Package observe is what one pass has read: the TrainJob, its objects and pods, what its launcher said, and what an earlier pass told.
// It holds no opinion: whether a job has failed, and why, is for package phase. What one change of an object means for its job (ChangeImpact)
// is here, because it depends on what is read of it.
package observe
