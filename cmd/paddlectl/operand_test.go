package main

import (
	"strings"
	"testing"
)

// TestDidYouMean checks the suggestions for a path that was typed as a local one.
func TestDidYouMean(t *testing.T) {
	for text, want := range map[string]string{
		"pfs/dc/home/alice/x":   "/pfs/dc/home/alice/x",
		"pfs/other/home/bob":    "/pfs/other/home/bob",
		"dc/home/alice":         "/pfs/dc/home/alice",
		"home/alice/x":          "/pfs/dc/home/alice/x",
		"/dc/home/alice/x":      "/pfs/dc/home/alice/x",
		"/home/alice/x":         "/pfs/dc/home/alice/x",
		"public/dataset/x":      "/pfs/public/dataset/x",
		"/dc/public/x":          "/pfs/dc/public/x",
		"data/x y":              "'/pfs/dc/home/alice/data/x y'",
		"home/bob":              "/pfs/dc/home/alice/home/bob",
		"./data":                "/pfs/dc/home/alice/data",
		"~/x":                   "/pfs/dc/home/alice/x",
		"~":                     "/pfs/dc/home/alice",
		"/data/x":               "",
		"/home/bob":             "",
		"../x":                  "",
		"file:pfs/dc/home/a":    "",
		"file:/pfs/dc/home/a/b": "",
	} {
		got := run(t, testMain(t, newHome(t), "ls", text)).stderr
		if want == "" && strings.Contains(got, "did you mean") || want != "" && !strings.Contains(got, "did you mean "+want+"?") {
			t.Errorf("%q: %s, want %q", text, got, want)
		}
	}
}
