package localfs

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// TestListResumed reads each page of a large directory with another instance, as the replicas of a
// service do, while names are removed and made.
func TestListResumed(t *testing.T) {
	names := 200_000
	if testing.Short() {
		names = 20_000
	}
	f, dir := openStore(t, Options{NoSync: true})
	for i := range names { // links are made faster than files
		if i%50_000 == 0 {
			must(t, os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), nil, 0o600))
		} else {
			must(t, os.Link(filepath.Join(dir, fmt.Sprint(i-i%50_000)), filepath.Join(dir, fmt.Sprint(i))))
		}
	}
	seen := make(map[string]bool, names)
	for token, page := "", 0; ; page++ {
		g := openAt(t, dir, Options{NoSync: true})
		p, err := g.List(t.Context(), pfs.Root, pfs.ListOptions{Token: token})
		must(t, err)
		must(t, g.Close())
		for _, e := range p.Entries {
			if seen[e.Name] {
				t.Fatalf("%s is listed twice", e.Name)
			}
			seen[e.Name] = true
		}
		if len(p.Entries) > 0 { // listed entries may disappear
			must(t, f.Remove(t.Context(), pfs.Root.Join(p.Entries[0].Name)))
		}
		if token = p.Next; token == "" {
			break
		}
	}
	if len(seen) != names {
		t.Errorf("%d names are listed, want %d", len(seen), names)
	}
}

func TestListTokenOfAnotherDirectory(t *testing.T) {
	f, _ := openStore(t, Options{})
	for _, d := range []pfs.Path{"/a", "/b"} {
		must(t, f.Mkdir(t.Context(), d, 0o755))
		for i := range 10 {
			write(t, f, d.Join(fmt.Sprint(i)), 1)
		}
	}
	page, err := f.List(t.Context(), "/a", pfs.ListOptions{Limit: 3})
	must(t, err)
	must(t, f.RemoveTree(t.Context(), "/a"))
	must(t, f.Rename(t.Context(), "/b", "/a"))
	_, err = f.List(t.Context(), "/a", pfs.ListOptions{Token: page.Next})
	pfstest.WantKind(t, err, pfs.Conflict)
}
