package main

import (
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"

	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/rogpeppe/go-internal/testscript"
)

// services are commands of scripts that stand for what a pipeline talks to:
//
//	forge                 starts a forge: $FORGE/gitlab is an API, and $FORGE the proxy before GitHub's for gh
//	commented AUTHOR TEXT  adds a comment of somebody to the pull request
//	comments N [TEXT...]   expects N comments, the last one with these texts
//	comment N TEXT        expects that comment number N has a text
//	valid FILE SCHEMA     says that a file is JSON as a schema says
//	registry              starts a registry of OCI artifacts: $REGISTRY
var services = map[string]func(ts *testscript.TestScript, neg bool, args []string){
	"forge": func(ts *testscript.TestScript, _ bool, _ []string) {
		f := &fakeForge{}
		server := httptest.NewServer(f)
		ts.Defer(server.Close)
		ts.Setenv("FORGE", server.URL)
		forges.Store(ts.Name(), f)
	},
	"commented": func(ts *testscript.TestScript, _ bool, args []string) {
		author, err := strconv.ParseInt(args[0], 10, 64)
		ts.Check(err)
		forgeOf(ts).addComment(author, args[1])
	},
	"comments": func(ts *testscript.TestScript, neg bool, args []string) {
		if err := expectComments(forgeOf(ts).list(), args); (err != nil) != neg {
			ts.Fatalf("%v", err)
		}
	},
	"comment": func(ts *testscript.TestScript, _ bool, args []string) {
		n, err := strconv.Atoi(args[0])
		ts.Check(err)
		if body := forgeOf(ts).list()[n-1].Body; !strings.Contains(body, args[1]) {
			ts.Fatalf("comment %d has no %q:\n%s", n, args[1], body)
		}
	},
	"valid": valid,
	"registry": func(ts *testscript.TestScript, _ bool, _ []string) {
		server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
		ts.Defer(server.Close)
		ts.Setenv("REGISTRY", strings.Replace(server.URL, "http://127.0.0.1", "localhost", 1))
	},
}

// forges are those of scripts by name. Scripts run side by side.
var forges sync.Map

func forgeOf(ts *testscript.TestScript) *fakeForge {
	found, started := forges.Load(ts.Name())
	if !started {
		ts.Fatalf("`forge` comes first")
	}
	return found.(*fakeForge) //nolint:forcetypeassert // nothing else is stored
}

func expectComments(all []comment, args []string) error {
	if strconv.Itoa(len(all)) != args[0] {
		return fmt.Errorf("there are %d comments, want %s: %+v", len(all), args[0], all)
	}
	for _, text := range args[1:] {
		if last := all[len(all)-1].Body; !strings.Contains(last, text) {
			return fmt.Errorf("the last comment has no %q:\n%s", text, last)
		}
	}
	return nil
}

// gitEnvironment makes git work the same everywhere.
var gitEnvironment = []string{
	"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_COUNT=3", "GIT_CONFIG_KEY_0=init.defaultBranch", "GIT_CONFIG_VALUE_0=main",
	"GIT_CONFIG_KEY_1=protocol.file.allow", "GIT_CONFIG_VALUE_1=always", "GIT_CONFIG_KEY_2=advice.detachedHead", "GIT_CONFIG_VALUE_2=false",
	"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com", "GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.com",
}
