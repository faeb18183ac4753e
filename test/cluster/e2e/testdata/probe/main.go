// Command probe is what runs in the pods of the suite.
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

func main() {
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(verb, argument string) error {
	switch verb {
	case "serve": // an address
		return http.ListenAndServe(argument, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			name, _ := os.Hostname()
			_, _ = io.WriteString(w, name)
		}))
	case "get": // a URL
		return get(argument)
	case "read": // a file
		content, err := os.ReadFile(argument)
		fmt.Println(len(content))
		return err
	}
	return fmt.Errorf("unknown verb %q", verb)
}

// get uses a new connection, so that policies and services decide anew.
func get(url string) error {
	client := http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get(url)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	_, err = io.Copy(os.Stdout, response.Body)
	return err
}
