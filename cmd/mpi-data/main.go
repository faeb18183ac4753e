// Command mpi-data brings the data of an MPI job onto a volume before the job starts. See pkg/mpi/data.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	jobv1 "lockstep.dev/lockstep/api/job/v1"
	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/data"
	"lockstep.dev/lockstep/pkg/mpi/diagnose"
)

const (
	help = `mpi-data brings data onto a volume, or copies a folder of one.

Usage: mpi-data STEP FOLDER LINK
       mpi-data artifacts FOLDER

The second form copies FOLDER to the prefix of S3 in STORAGE_URI, and describes it by the JSON in LOCKSTEP_RUN.
STEP is dataset-initializer or model-initializer, FOLDER the volume, LINK what is to lead to the data below it.
The source is in the variable STORAGE_URI; credentials are in those of Kubeflow Trainer's initializers:
ACCESS_KEY_ID, SECRET_ACCESS_KEY, ENDPOINT and REGION for s3://, ACCESS_TOKEN for hf:// and https://,
IGNORE_PATTERNS and CA_CERTIFICATE. After a copy an event goes to OPENLINEAGE_URL, if there is one.
`
	// patience is how long a source that gives nothing is tried; the Job tries it again after that.
	patience = 2 * time.Minute
	// terminationLog is where kubelet reads the last word of a container.
	terminationLog = "/dev/termination-log"
)

func main() {
	var work func(context.Context) (mpi.FetchReport, error)
	switch args := os.Args[1:]; {
	case len(args) == 2 && args[0] == mpi.ArtifactsStep:
		work = func(ctx context.Context) (mpi.FetchReport, error) { return export(ctx, args[1]) }
	case len(args) == 3: //nolint:mnd // see the help
		work = func(ctx context.Context) (mpi.FetchReport, error) { return fetch(ctx, args[0], args[1], args[2]) }
	default:
		fmt.Fprint(os.Stderr, help)
		os.Exit(2) //nolint:mnd // as all our programs
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	code := run(ctx, work)
	stop()
	os.Exit(code)
}

// run works, prints how far it is, and leaves a report.
func run(ctx context.Context, work func(context.Context) (mpi.FetchReport, error)) int {
	// All pods of a namespace may write the volume, by their group.
	syscall.Umask(0o002)
	report, err := work(ctx)
	code := 0
	if err != nil {
		code = 1
		report = mpi.FetchReport{Reason: diagnose.DataUnavailable, Message: err.Error()}
		if failure := (*data.Failure)(nil); errors.As(err, &failure) {
			report.Reason, report.Message = failure.Reason, failure.Message
			if failure.Final {
				code = mpi.FetchFailedForGood
			}
		}
		fmt.Println(report.Message)
	}
	if text, err := json.Marshal(report); err == nil {
		// Outside of a pod there is none.
		_ = os.WriteFile(terminationLog, text, 0o600)
	}
	return code
}

// print writes a line for people.
func print(format string, args ...any) { fmt.Printf(format+"\n", args...) }

func export(ctx context.Context, folder string) (mpi.FetchReport, error) {
	var manifest jobv1.Manifest
	if err := json.Unmarshal([]byte(os.Getenv(mpi.RunVariable)), &manifest); err != nil {
		return mpi.FetchReport{}, fmt.Errorf("%s: %w", mpi.RunVariable, err)
	}
	to, begin := os.Getenv(mpi.StorageURI), time.Now()
	report, err := data.Export{Root: folder, To: to, Print: print, Patience: patience}.Run(ctx, manifest, os.Getenv)
	if err == nil {
		print("%d files, %d bytes: copied to %s in %s, sha256 of %s %s", report.Files, report.Bytes, to,
			time.Since(begin).Round(time.Second), jobv1.ManifestName, report.Digest)
	}
	return report, err
}

func fetch(ctx context.Context, step, folder, link string) (mpi.FetchReport, error) {
	uri := os.Getenv(mpi.StorageURI)
	source, err := data.Open(uri, step, os.Getenv)
	if err != nil {
		return mpi.FetchReport{}, err
	}
	store := data.Store{Root: folder, Print: print, Patience: patience}
	begin := time.Now()
	report, err := store.Fetch(ctx, source, uri, os.Getenv("ENDPOINT"), link)
	if err != nil {
		return report, err
	}
	how := "fetched in " + time.Since(begin).Round(time.Second).String()
	if report.Cached {
		how = "already there"
	}
	print("%d files, %d bytes of %s: %s, sha256 %s", report.Files, report.Bytes, uri, how, report.Digest)
	return report, nil
}
