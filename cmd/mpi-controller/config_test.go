package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"lockstep.dev/lockstep/pkg/mpi"
	"lockstep.dev/lockstep/pkg/mpi/reconciler"
)

func TestExecute(t *testing.T) {
	defaults := reconciler.Options{
		Mode: reconciler.Executor, TrainerNamespaces: mpi.TrainerNamespaces(), Namespace: "lockstep-system", Concurrency: 10, WebhookAddress: ":9443", MetricsAddress: ":8443", MetricsAuthentication: true, ProbeAddress: ":8081",
	}
	changed := reconciler.Options{
		Mode: reconciler.Companion, TrainerNamespaces: mpi.TrainerNamespaces(), Namespace: "mpi", Concurrency: 3, MetricsAddress: "0", ProbeAddress: "127.0.0.1:9", LeaderElection: true,
		Identity: "pod-7", WebhookAddress: "0",
	}
	cases := map[string]struct {
		reason    string
		namespace string
		args      []string
		failure   error
		want      *controllerConfig
		code      int
		says      string
	}{
		"Defaults": {"a pod knows its namespace from the downward API", "lockstep-system", nil, nil, &controllerConfig{options: defaults}, 0, ""},
		"Flags": {
			"flags win", "lockstep-system",
			[]string{
				"--namespace=mpi", "--concurrency=3", "--metrics-bind-address=0", "--health-probe-bind-address=127.0.0.1:9",
				"--metrics-authentication=false", "--leader-elect", "--mode=companion", "--identity=pod-7", "--webhook-bind-address=0", "--log-level=debug", "--kubeconfig=/tmp/k",
			},
			nil, &controllerConfig{kubeconfigPath: "/tmp/k", logLevel: slog.LevelDebug, options: changed}, 0, "",
		},
		"Help":           {"", "", []string{"--help"}, nil, nil, 0, "Examples:"},
		"NoNamespace":    {"the launchers would admit nobody", "", nil, nil, nil, 2, "--namespace is empty"},
		"BadNamespace":   {"", "Not_A_Name", nil, nil, nil, 2, "`Not_A_Name` is not a name"},
		"BadConcurrency": {"", "x", []string{"--concurrency=0"}, nil, nil, 2, "at least 1 is needed"},
		"BadMode":        {"", "x", []string{"--mode=both"}, nil, nil, 2, "allowed are [executor companion]"},
		"BadLevel":       {"", "x", []string{"--log-level=loud"}, nil, nil, 2, "log-level"},
		"UnknownFlag":    {"", "x", []string{"--zap"}, nil, nil, 2, "unknown flag"},
		"Argument":       {"", "x", []string{"start"}, nil, nil, 2, "unexpected argument `start`"},
		"Failure":        {"", "x", nil, errors.New("no cluster"), &controllerConfig{options: reconciler.Options{Mode: reconciler.Executor, TrainerNamespaces: mpi.TrainerNamespaces(), Namespace: "x", Concurrency: 10, WebhookAddress: ":9443", MetricsAddress: ":8443", MetricsAuthentication: true, ProbeAddress: ":8081"}}, 1, "mpi-controller: no cluster"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Setenv("POD_NAMESPACE", tc.namespace)
			var got *controllerConfig
			var out bytes.Buffer
			code := runCommandLine(t.Context(), tc.args, &out, &out, func(_ context.Context, c controllerConfig) error {
				got = &c
				return tc.failure
			})
			if code != tc.code || !strings.Contains(out.String(), tc.says) {
				t.Errorf("%s: want code %d and `%s`, got %d: %s", tc.reason, tc.code, tc.says, code, out.String())
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(controllerConfig{}), cmpopts.IgnoreUnexported(reconciler.Options{})); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestIdentity(t *testing.T) {
	hostname, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		reason string
		c      controllerConfig
		want   string
	}{
		"Pod":     {"a container that starts again in its pod has its lease still", controllerConfig{}, hostname},
		"Given":   {"", controllerConfig{options: reconciler.Options{Identity: "a"}}, "a"},
		"Outside": {"two processes on one machine are two", controllerConfig{kubeconfigPath: "k"}, ""},
	} {
		if got, err := tc.c.leaseIdentity(); got != tc.want || err != nil {
			t.Errorf("%s: %s: want %q, got %q, %v", name, tc.reason, tc.want, got, err)
		}
	}
}
