package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

const goodPassword = "correct horse\n"

// result is the output and exit code of a run.
type result struct {
	code           int
	stdout, stderr string
}

// run runs the program with stdin.
func run(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	var out, err bytes.Buffer
	m := &Main{Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &err}
	code := m.Run(context.Background(), append([]string{program}, args...))
	return result{code, out.String(), err.String()}
}

// mustRun is run, and fails the test unless the code is 0.
func mustRun(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	got := run(t, stdin, args...)
	if got.code != 0 {
		t.Fatalf("pfsd %s: code %d\n%s", strings.Join(args, " "), got.code, got.stderr)
	}
	return got
}
