package main

import (
	"context"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	trainer "lockstep.dev/lockstep/api/trainer/v1alpha1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/test/testjob"
)

// launcherLog is what the launcher has printed so far. A line that begins with `fault` marks the moment of a fault that
// the command makes itself.
type launcherLog struct {
	user  testjob.User
	job   *trainer.TrainJob
	lines []string
}

// read asks for the log from its beginning; while there is none it stays empty.
func (l *launcherLog) read(ctx context.Context) {
	pods, err := l.user.Logs.CoreV1().Pods(l.job.Namespace).List(ctx, metav1.ListOptions{
		LabelSelector: mpi.JobSetNameLabel + "=" + l.job.Name + "," + mpi.ReplicatedJobLabel + "=" + mpi.LauncherJob,
	})
	if err != nil || len(pods.Items) == 0 || len(pods.Items[0].Status.ContainerStatuses) == 0 {
		return
	}
	text, err := l.user.Logs.CoreV1().Pods(l.job.Namespace).GetLogs(pods.Items[0].Name, &corev1.PodLogOptions{
		Container: mpi.Container, Timestamps: true,
	}).DoRaw(ctx)
	if err == nil {
		l.lines = strings.Split(string(text), "\n")
	}
}

func (l *launcherLog) ranks() int {
	count := 0
	for _, line := range l.lines {
		if _, text, _ := strings.Cut(line, " "); isMark(text) {
			count++
		}
	}
	return count
}

// lastMark is when the last rank printed its line, or zero.
func (l *launcherLog) lastMark() time.Time {
	var last time.Time
	for _, line := range l.lines {
		stamp, text, _ := strings.Cut(line, " ")
		if at, err := time.Parse(time.RFC3339Nano, stamp); err == nil && isMark(text) && at.After(last) {
			last = at
		}
	}
	return last
}

func isMark(text string) bool {
	_, rank := testjob.ParseRank(text)
	return rank || strings.HasPrefix(text, "fault")
}
