package transfer

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/memfs"
)

// rootNames lists the files at the root.
func rootNames(t *testing.T, fsys pfs.FileSystem) string {
	t.Helper()
	var names []string
	for info, err := range pfs.Entries(t.Context(), fsys, "/", nil) {
		must(t, err)
		names = append(names, info.Name)
	}
	return strings.Join(names, " ")
}

// TestOutputsAppearTogether makes files whose digests are computed while writing, on targets with
// short and long units.
func TestOutputsAppearTogether(t *testing.T) {
	for _, unit := range []int64{0, 3 * chunk} {
		b := newFaulty(t)
		b.unit = unit
		outs := NewOutputs(t.Context(), OutputOptions{Algorithm: digest.BLAKE3})
		defer outs.Abort()
		data := noise(5, 9*chunk+5)
		var made []*Output
		for _, name := range []string{"a", "b"} {
			o, err := outs.Create(name, End{b, pfs.Path("/" + name)})
			must(t, err)
			made = append(made, o)
		}
		part, err := outs.CreatePart(End{b, "/.part"})
		must(t, err)
		for _, o := range append(made, part) {
			for p := data; len(p) > 0; p = p[min(len(p), 1<<20-3):] {
				_, err := o.Write(p[:min(len(p), 1<<20-3)])
				must(t, err)
			}
			must(t, o.Finish())
		}
		if got := rootNames(t, b); got != ".part" {
			t.Errorf("before Publish there is %q, want the part", got)
		}
		must(t, part.Name("c", End{b, "/c"}))
		must(t, outs.Publish())
		for i, name := range []pfs.Path{"/a", "/b", "/c"} {
			checkFile(t, b, name, data)
			want, err := digest.Stored(t.Context(), b, name, digest.BLAKE3, nil)
			must(t, err)
			if got := append(made, part)[i].Digest(); got != want {
				t.Errorf("%s has the digest %q, want %q", name, got, want)
			}
		}
		if got := rootNames(t, b); got != "a b c" {
			t.Errorf("there is %q, want a, b and c", got)
		}
	}
}

// TestOutputsRefuse names why a file is not made.
func TestOutputsRefuse(t *testing.T) {
	fsys := memfs.New(memfs.Options{})
	put(t, fsys, "/a", nil)
	outs := NewOutputs(t.Context(), OutputOptions{})
	defer outs.Abort()
	if _, err := outs.Create("a", End{fsys, "/a"}); !errors.Is(err, ErrNotReplaced) || !errors.Is(err, pfs.Exist) {
		t.Errorf("%v, want ErrNotReplaced", err)
	}
	_, err := outs.Create("b", End{fsys, "/b"})
	must(t, err)
	if _, err := outs.Create("b", End{fsys, "/b"}); !errors.Is(err, pfs.Invalid) {
		t.Errorf("%v, want Invalid", err)
	}
}

func TestManyOutputsWaitByThemselves(t *testing.T) {
	fsys := memfs.New(memfs.Options{})
	for _, publish := range []bool{true, false} {
		outs := NewOutputs(t.Context(), OutputOptions{Force: true})
		for i := range openOutputs + 5 {
			o, err := outs.Create("x", End{fsys, numbered(i)})
			must(t, err)
			_, err = o.Write([]byte{byte(i)})
			must(t, err)
			must(t, o.Finish())
			if open := o.w.staged != nil; open != (i < openOutputs) {
				t.Fatalf("output %d is open: %v", i, open)
			}
		}
		if publish {
			must(t, outs.Publish())
		} else {
			outs.Abort()
		}
		for i := range openOutputs + 5 {
			checkFile(t, fsys, numbered(i), []byte{byte(i)})
		}
		if n, _, _ := fsys.Sweep(t.Context(), "/", 0); n != 0 {
			t.Errorf("%d uploads are left", n)
		}
	}
}

// TestManyOutputsOpen writes to more files in turn than there is memory for.
func TestManyOutputsOpen(t *testing.T) {
	fsys := memfs.New(memfs.Options{})
	outs := NewOutputs(t.Context(), OutputOptions{})
	defer outs.Abort()
	var list []*Output
	for i := range 40 {
		o, err := outs.Create("x", End{fsys, numbered(i)})
		must(t, err)
		list = append(list, o)
	}
	p := noise(3, chunk+1)
	for range 2 {
		for _, o := range list {
			_, err := o.Write(p)
			must(t, err)
		}
	}
	for _, o := range list {
		must(t, o.Finish())
	}
	must(t, outs.Publish())
	checkFile(t, fsys, numbered(39), append(p[:len(p):len(p)], p...))
}

// numbered is the path of file i.
func numbered(i int) pfs.Path { return pfs.Path(fmt.Sprintf("/x%d", i)) }
