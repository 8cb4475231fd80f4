package dataset_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/pfs/dataset"
	"github.com/paddlecloud/pfs/pfs/dataset/recordfile"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/transfer"
)

// TestManifestTypes checks that a manifest has the types that its records do not show, also if the
// records come from another dataset.
func TestManifestTypes(t *testing.T) {
	fsys := memfs.New(memfs.Options{})
	convert := func(name string, o dataset.Options) string {
		t.Helper()
		o.Dir, o.Name = transfer.End{FS: fsys, Path: "/"}, name
		made, err := dataset.Convert(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(made.Payload, made.Columns, made.Notes)
	}
	stream := func(text string) []dataset.Input {
		return []dataset.Input{{File: recordfile.File{Title: "-", Stream: strings.NewReader(text)}}}
	}
	if got, want := convert("table", dataset.Options{Inputs: stream("a,b,c\n1,x,0.5\n"), Format: "csv", Labels: []string{"c", "a"}}),
		"msgpack[{a int 2} {b text 0} {c float 1}] []"; got != want {
		t.Errorf("the table: %s, want %s", got, want)
	}
	// A list with a set.
	const set = "\x80\x04\x5d\x28\x8f\x28K\x01\x90e."
	const note = "a set becomes an array"
	if got, want := convert("pickle", dataset.Options{Inputs: stream(set), Format: "pickle"}), "msgpack[] ["+note+"]"; got != want {
		t.Errorf("the pickle: %s, want %s", got, want)
	}
	again := []dataset.Input{dataset.Path(transfer.End{FS: fsys, Path: "/pickle"})}
	if got, want := convert("again", dataset.Options{Inputs: again, Format: dataset.RecordsFormat, Payload: "json"}), "json[] ["+note+"]"; got != want {
		t.Errorf("the pickle as JSON: %s, want %s", got, want)
	}
}
